import { titled } from '../../common/words.ts';
import type { Page } from '../page.ts';
import {
  type Comparison,
  type DayCount,
  type DueSum,
  type Figures,
  maxClinics,
  type NewestReceipt,
  readToday,
  type StateCount,
  type Takings,
  usualWeeks,
} from '../reports/read-today.ts';
import { hrefTo, recordHref, useMayOpen, useVisit } from '../ui/context.ts';
import { sendPage } from '../ui/send-page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Ago, Amount, formatCount, formatCountOf, Named, Nothing, Status } from '../ui/values.tsx';

export const today: Page = (routes, { read }) => {
  routes.get('/today', 'viewer', async (_req, res) => {
    const figures = await read((db) => readToday(db));
    sendPage(res, 'Today', <Today {...figures} />);
  });
};

function Today({ takings, appointments, starting, newest, dues }: Figures) {
  return (
    <>
      <NeedsSomebody />
      {takings ? (
        <TakingsOfToday rows={takings} />
      ) : (
        <p class="empty">The takings took too long to add up. Reload the page.</p>
      )}
      <h2>Newest receipts</h2>
      <Table
        label="Newest receipts"
        rows={newest}
        empty="No receipts came today or yesterday."
        columns={newestColumns}
      />
      <h2>Appointments today and tomorrow</h2>
      <Table
        label="Appointments today and tomorrow"
        rows={starting}
        small
        empty="No appointment is known to begin today or tomorrow."
        columns={startingColumns}
      />
      <p>
        <a href={hrefTo('/reports/schedule')}>Next seven days</a>
      </p>
      <h2>Appointments updated today</h2>
      <Table
        label="Appointments updated today, by state"
        rows={appointments}
        small
        empty="No appointment was booked or changed today."
        columns={stateColumns}
      />
      <h2>Newly overdue</h2>
      <Table label="Newly overdue" rows={dues} small columns={dueColumns} />
    </>
  );
}

function NeedsSomebody() {
  const { problems } = useVisit();
  const mayOpen = useMayOpen();
  const link = (path: string, text: string) => (mayOpen(path) ? <a href={hrefTo(path)}>{text}</a> : text);
  const count = (number: number, path: string, text: string) =>
    number > 0 && (
      <>
        {formatCountOf(number, ['callback', 'callbacks'])} {text}, and no figure contains{' '}
        {number === 1 ? 'it' : 'them'}. {link(path, 'Look')}
      </>
    );
  const items = [
    !problems && <>Whether something is wrong is not known. {link('/health', 'Health')}</>,
    problems && count(problems.failed, '/deliveries', 'could not be applied'),
    problems && count(problems.quarantine, '/quarantine', 'could not be read'),
  ].filter(Boolean);
  if (items.length === 0) return null;
  return (
    <section class="warning" aria-labelledby="needs">
      <h2 id="needs">To do</h2>
      <ul>
        {items.map((item, index) => (
          <li key={index}>{item}</li>
        ))}
      </ul>
    </section>
  );
}

const signed = new Intl.NumberFormat('en-IN', {
  style: 'percent',
  signDisplay: 'exceptZero',
  maximumFractionDigits: 0,
});

function changeOf({ now, usual }: Comparison): string | undefined {
  if (usual === null || Number(usual) === 0) return undefined;
  return signed.format((Number(now) - Number(usual)) / Number(usual));
}

function TakingsOfToday({ rows }: { rows: readonly Takings[] }) {
  const { timezone } = useVisit();
  const [total] = rows.filter(({ isTotal }) => isTotal);
  const clinics = rows.filter(({ isTotal }) => !isTotal);
  const weekday = new Date().toLocaleDateString('en-GB', { timeZone: timezone, weekday: 'long' });
  if (!total) {
    return (
      <p class="empty">
        No receipts or payments today, yesterday or on the last {usualWeeks} {weekday}s up to this time of the
        day. <a href={hrefTo('/reports/receipts', { range: 'all' })}>All receipts</a>
      </p>
    );
  }
  return (
    <>
      <section class="tiles" aria-label="Takings">
        <Tile name="Net today" {...total.net} />
        <Tile name="Collected today" {...total.collected} />
        <Tile name="Due today" {...total.due} />
      </section>
      <p class="note">
        {formatCountOf(Number(total.receipts), ['receipt', 'receipts'])} today. Net and due are of these;
        collected is what came in today, also for older receipts, less what went back. Usual is the median of
        the last {usualWeeks} {weekday}s with receipts or payments; like yesterday, up to this time of the
        day.
      </p>
      <h2>By clinic</h2>
      <Table
        label="Takings by clinic"
        rows={clinics}
        empty="No receipts."
        columns={[
          {
            head: 'Clinic',
            cell: ({ clinic }) => (clinic ? <Named kind="clinic" id={clinic} /> : 'No clinic'),
            rowHead: true,
          },
          { head: 'Net', cell: ({ net }) => <Amount value={net.now} />, numeric: true },
          { head: 'Usual net', cell: ({ net }) => <Amount value={net.usual} />, numeric: true },
          { head: 'Change', cell: ({ net }) => changeOf(net) ?? <Nothing />, numeric: true },
          { head: 'Net yesterday', cell: ({ net }) => <Amount value={net.yesterday} />, numeric: true },
          { head: 'Collected', cell: ({ collected }) => <Amount value={collected.now} />, numeric: true },
          {
            head: 'Usually collected',
            cell: ({ collected }) => <Amount value={collected.usual} />,
            numeric: true,
          },
          { head: 'Due', cell: ({ due }) => <Amount value={due.now} />, numeric: true },
        ]}
      />
      {clinics.length === maxClinics && (
        <p>
          <a href={hrefTo('/reports/clinics_daily', { range: 'today' })}>All clinics</a>
        </p>
      )}
    </>
  );
}

function Tile({ name, ...comparison }: Comparison & { name: string }) {
  const { now, usual, yesterday } = comparison;
  const change = changeOf(comparison);
  return (
    <div class="tile">
      <h2>{name}</h2>
      <p>
        <Amount value={now} />
      </p>
      <dl>
        <dt>Usual</dt>
        <dd>
          <Amount value={usual} /> {change && <span>({change})</span>}
        </dd>
        <dt>Yesterday</dt>
        <dd>
          <Amount value={yesterday} />
        </dd>
      </dl>
    </div>
  );
}

const newestColumns: readonly Column<NewestReceipt>[] = [
  { head: 'Received', cell: ({ at }) => <>{<Ago at={at} />} ago</> },
  {
    head: 'Receipt',
    cell: ({ business, id, number, isFailed }) => (
      <>
        <a href={recordHref('receipt', business, id)}>{number || id}</a>{' '}
        {isFailed && <Status status="failed" />}
      </>
    ),
  },
  { head: 'Net', cell: ({ net }) => <Amount value={net} />, numeric: true },
  { head: 'Paid', cell: ({ paid }) => <Amount value={paid} />, numeric: true },
  { head: 'Due', cell: ({ due }) => <Amount value={due} />, numeric: true },
  { head: 'Clinic', cell: ({ clinic }) => <Named kind="clinic" id={clinic} /> },
  { head: 'Doctor', cell: ({ doctor }) => <Named kind="doctor" id={doctor} /> },
];

const startingColumns: readonly Column<DayCount>[] = [
  {
    head: 'Day',
    cell: ({ day, isToday }) => (
      <a href={hrefTo('/reports/schedule', { from: day, to: day })}>{isToday ? 'Today' : 'Tomorrow'}</a>
    ),
  },
  { head: 'Appointments', cell: ({ expected }) => formatCount(expected), numeric: true },
  { head: 'Cancelled', cell: ({ cancelled }) => formatCount(cancelled), numeric: true },
];

const stateColumns: readonly Column<StateCount>[] = [
  { head: 'State', cell: ({ state }) => titled(state) },
  { head: 'Appointments', cell: ({ appointments }) => formatCount(appointments), numeric: true },
  { head: 'Booked today', cell: ({ booked }) => formatCount(booked), numeric: true },
];

const dueColumns: readonly Column<DueSum>[] = [
  {
    head: 'Age',
    cell: ({ days, day }) => (
      <a href={hrefTo('/reports/outstanding_receipts', { from: day, to: day })}>{days} days</a>
    ),
  },
  { head: 'Receipts', cell: ({ receipts }) => formatCount(receipts), numeric: true },
  { head: 'Due', cell: ({ due }) => <Amount value={due} />, numeric: true },
];
