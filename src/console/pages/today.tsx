import { sql } from 'kysely';
import { type NewestReceipt, readToday, type StateCount } from '../../reports/today.ts';
import { businesses } from '../businesses.ts';
import type { Page } from '../page.ts';
import { Today } from '../today/pages.tsx';
import { sendPage } from '../ui/page.tsx';

// By the callbacks, whose days have an index; their records are few.
const appointments = sql<StateCount>`
  select state, count(*)::int as appointments, (count(*) filter (where day = reporting.today()))::int as booked
  from reporting.appointments
  where (business_id, appointment_id) in (
    select business_id, record_id from receiver.inbox
    where family = 'appointment' and reporting.day(received_at) = reporting.today())
  group by state order by appointments desc, state`;

const newest = sql<NewestReceipt>`
  select business_id as business, receipt_id::text as id, receipt_number as number, clinic_id as clinic,
    doctor_id as doctor, at, net_amount as net, paid_amount as paid, due_amount as due
  from (
    select business_id, record_id::bigint as receipt_id, max(received_at) as at from receiver.inbox
    where family = 'receipt' and reporting.day(received_at) >= reporting.today() - 1
    group by business_id, record_id order by at desc limit 30
  ) as came
  join reporting.receipts using (business_id, receipt_id)
  order by at desc limit 10`;

/** The clinics' day: takings, appointments, dues. */
export const today: Page = (routes, { read }) => {
  routes.get('/today', 'viewer', async (_req, res) => {
    const figures = await read((db) => readToday(db, { businesses, appointments, newest }));
    sendPage(res, 'Today', <Today {...figures} found={[]} />);
  });
};
