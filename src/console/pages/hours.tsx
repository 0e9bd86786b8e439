import { sql } from 'kysely';
import { GroupTabs } from '../lists/list-page.tsx';
import { read as all, readBusinesses, textArray } from '../lists/query.ts';
import type { Page } from '../page.ts';
import { sendPage } from '../ui/send-page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { formatCount, Nothing } from '../ui/values.tsx';

const weeks = 8;
const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

interface Visits {
  /** From 0, a Monday. */
  weekday: number;
  hour: number;
  visits: number;
}

export const hours: Page = (routes, { read }) => {
  routes.get('/hours', 'viewer', async (_req, res) => {
    const visits = await read(async (db) => {
      const businesses = await readBusinesses(db);
      const query = sql<Visits>`
        select extract(isodow from day)::int - 1 as weekday, extract(hour from issued_at at time zone reporting.timezone())::int as hour,
          count(*)::int as visits
        from reporting.receipts
        where business_id = any(${textArray(businesses)}) and day between reporting.today() - ${7 * weeks}::int and reporting.today() - 1
        group by 1, 2`;
      return all(db, query);
    });
    sendPage(res, 'Busy hours', <Hours visits={visits} />);
  });
};

function Hours({ visits }: { visits: readonly Visits[] }) {
  const known = visits.map(({ hour }) => hour);
  const most = Math.max(...visits.map(({ visits }) => visits));
  const first = Math.min(...known);
  const length = known.length && Math.max(...known) - first + 1;
  const columns = Array.from({ length }, (_, n): Column<number> => {
    const cell = (weekday: number) => {
      const count = visits.find((one) => one.weekday === weekday && one.hour === first + n)?.visits;
      if (!count) return <Nothing />;
      const tone = ['', 'good', 'warn'][Math.ceil((count / most) * 3) - 1];
      return <span class={`badge ${tone}`}>{formatCount(count)}</span>;
    };
    return [first + n, cell, 'n'];
  });
  return (
    <>
      <GroupTabs group="appointments" current="Busy hours" entered={{}} />
      <p class="note">
        Receipts of the last {weeks} weeks, by the weekday and the hour in which they were issued.
      </p>
      <Table
        label="Receipts by weekday and hour"
        rows={visits.length > 0 ? [...weekdays.keys()] : []}
        empty="No receipts in these weeks."
        columns={[['Weekday', (weekday) => weekdays[weekday]], ...columns]}
      />
    </>
  );
}
