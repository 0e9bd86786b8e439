import { sql } from 'kysely';
import type { Db } from '../../receiver/store/tables.ts';
import { type NewestReceipt, readToday, type StateCount } from '../../reports/today.ts';
import { readBusinesses } from '../businesses.ts';
import type { Page } from '../page.ts';
import { Today } from '../today/pages.tsx';
import { sendPage } from '../ui/page.tsx';

/** The clinics' day: takings, appointments, dues. */
export const today: Page = (routes, { read }) => {
  routes.get('/today', 'viewer', async (_req, res) => {
    const figures = await read(async (db) =>
      readToday(db, {
        businesses: await readBusinesses(db),
        readAppointments: () => readAppointments(db),
        readNewest: () => readNewest(db),
      }),
    );
    sendPage(res, 'Today', <Today {...figures} found={[]} />);
  });
};

// What came is found by the callbacks, whose days have an index.

async function readAppointments(db: Db): Promise<StateCount[]> {
  const { rows: came } = await sql<{ business: string; id: string }>`
    select distinct business_id as business, record_id as id from receiver.inbox
    where family = 'appointment' and reporting.day(received_at) = reporting.today()`.execute(db);
  const [businesses, ids] = [came.map(({ business }) => business), came.map(({ id }) => id)];
  const { rows } = await sql<StateCount>`
    select state, count(*)::int as appointments, (count(*) filter (where day = reporting.today()))::int as booked
    from reporting.appointments
    where business_id = any(${businesses}::text[]) and appointment_id = any(${ids}::text[])
      and (business_id, appointment_id) in (select * from unnest(${businesses}::text[], ${ids}::text[]))
    group by state order by appointments desc, state`.execute(db);
  return rows;
}

async function readNewest(db: Db): Promise<NewestReceipt[]> {
  const { rows } = await sql<NewestReceipt>`
    select business_id as business, receipt_id::text as id, receipt_number as number, clinic_id as clinic, doctor_oid as doctor,
      at, net_amount as net, amount_paid as paid, reporting.amount_due(net_amount, amount_paid, amount_due) as due
    from (
      select business_id, record_id::bigint as receipt_id, max(received_at) as at from receiver.inbox
      where family = 'receipt' and reporting.day(received_at) >= reporting.today() - 1
      group by business_id, record_id order by at desc limit 30
    ) as came
    join public.receipts using (business_id, receipt_id)
    where deleted_at is null order by at desc limit 10`.execute(db);
  return rows;
}
