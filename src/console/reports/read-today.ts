import { type QueryExecutorProvider as Db, type RawBuilder, sql } from 'kysely';
import { read, readBusinesses, unlessTimeout } from './read.ts';

/** Sums in rupees, as PostgreSQL writes them, up to this time of the day; null: no such day has receipts. */
export interface Comparison {
  now: string;
  usual: string | null;
  yesterday: string | null;
}

export interface Takings {
  /** Null in the total: of all; elsewhere: receipts without a clinic. */
  clinic: string | null;
  isTotal: boolean;
  receipts: string;
  net: Comparison;
  /** What came in on the day, also for older receipts, less what went back. */
  collected: Comparison;
  due: Comparison;
}

/** The number of same weekdays before today that are "usual". */
export const usualWeeks = 8;
export const maxClinics = 20;

// No sub-select: PostgreSQL pushes none down into a view of two parts.
const usualDays = sql`array[${sql.join(Array.from({ length: usualWeeks }, (_, n) => sql`reporting.today() - ${sql.lit(7 * (n + 1))}`))}]`;
const comparedDays = sql`(array[reporting.today(), reporting.today() - 1] || ${usualDays})`;

const timeOfDay = sql`(day + (now() at time zone reporting.timezone())::time) at time zone reporting.timezone()`;

const comparisonOf = (column: string) => {
  const sum = sql`sum(${sql.ref(column)})`;
  return sql`json_build_object(
      'now', coalesce(${sum} filter (where day = reporting.today()), 0)::text,
      'usual', round((percentile_cont(0.5) within group (order by ${sql.ref(column)})
        filter (where day = any(${usualDays})))::numeric, 2)::text,
      'yesterday', (${sum} filter (where day = reporting.today() - 1))::text) as ${sql.ref(column)}`;
};

const takingsQuery = (businesses: RawBuilder<string[]>) => sql<Takings>`
    select clinic, "isTotal", coalesce(sum(receipts) filter (where day = reporting.today()), 0)::text as receipts,
      ${sql.join(['net', 'collected', 'due'].map(comparisonOf))}
    from (
      select clinic, grouping(clinic) = 1 as "isTotal", day, sum(receipts) as receipts, sum(net) as net, sum(collected) as collected,
        sum(due) as due
      from (
        -- Grouping sets would keep the conditions out of the view.
        select clinic_id as clinic, day, count(*) as receipts, sum(net_amount) as net, 0 as collected, sum(due_amount) as due
        from reporting.receipts
        where business_id = any(${businesses}) and day = any(${comparedDays}) and not reporting.is_failed(status)
          and issued_at <= ${timeOfDay}
        group by clinic_id, day
        union all
        select clinic_id, day, null, null, sum(amount), null from reporting.payments
        where day = any(${comparedDays}) and paid_at <= ${timeOfDay}
        group by clinic_id, day
      ) as clinics
      group by grouping sets ((clinic, day), (day))
    ) as days
    group by clinic, "isTotal"
    order by "isTotal" desc, coalesce(sum(net) filter (where day = reporting.today()), 0) desc, clinic nulls last
    limit ${maxClinics + 1}`;

export interface StateCount {
  state: string;
  appointments: number;
  booked: number;
}

// Changes are found by the callbacks, whose days have an index.
async function readAppointments(db: Db): Promise<StateCount[]> {
  const changed = await read(
    db,
    sql<{ business: string; id: string }>`
      select distinct business_id as business, record_id as id from receiver.inbox
      where family = 'appointment' and reporting.day(received_at) = reporting.today()`,
  );
  const [businesses, ids] = [changed.map(({ business }) => business), changed.map(({ id }) => id)];
  const query = sql<StateCount>`
    select state, count(*)::int as appointments, (count(*) filter (where day = reporting.today()))::int as booked
    from reporting.appointments
    where business_id = any(${businesses}::text[]) and appointment_id = any(${ids}::text[])
      and (business_id, appointment_id) in (select * from unnest(${businesses}::text[], ${ids}::text[]))
    group by state order by appointments desc, state`;
  return read(db, query);
}

export interface DayCount {
  day: string;
  isToday: boolean;
  expected: number;
  cancelled: number;
}

const startingQuery = (businesses: RawBuilder<string[]>) => sql<DayCount>`
  select day::text, day = reporting.today() as "isToday",
    (count(*) filter (where state not like 'cancelled%'))::int as expected,
    (count(*) filter (where state like 'cancelled%'))::int as cancelled
  from reporting.schedule
  where business_id = any(${businesses}) and day between reporting.today() and reporting.today() + 1
  group by day order by day`;

export interface NewestReceipt {
  business: string;
  id: string;
  number: string | null;
  clinic: string | null;
  doctor: string | null;
  at: Date;
  net: string | null;
  paid: string | null;
  due: string | null;
  isFailed: boolean;
}

const newestQuery = sql<NewestReceipt>`
    select business_id as business, receipt_id::text as id, receipt_number as number, clinic_id as clinic, doctor_oid as doctor,
      at, net_amount as net, amount_paid as paid, reporting.amount_due(net_amount, amount_paid, amount_due) as due,
      reporting.is_failed(receipt_status) as "isFailed"
    from (
      select business_id, record_id::bigint as receipt_id, max(received_at) as at from receiver.inbox
      where family = 'receipt' and reporting.day(received_at) >= reporting.today() - 1
      group by business_id, record_id order by at desc limit 30
    ) as came
    join public.receipts using (business_id, receipt_id)
    where deleted_at is null order by at desc limit 10`;

export interface DueSum {
  days: number;
  day: string;
  receipts: string;
  due: string;
}

const duesQuery = (businesses: RawBuilder<string[]>) => sql<DueSum>`
  select days, (reporting.today() - days)::text as day, count(r.*)::text as receipts, coalesce(sum(due_amount), 0)::text as due
  from unnest(array[30, 90]) as days
  left join (
    select day, due_amount from reporting.outstanding_receipts
    where business_id = any(${businesses}) and day = any(array[reporting.today() - 30, reporting.today() - 90])
  ) as r on r.day = reporting.today() - days
  group by days order by days`;

/** Undefined: the query timed out. */
export interface Figures {
  takings: Takings[] | undefined;
  appointments: StateCount[] | undefined;
  starting: DayCount[] | undefined;
  newest: NewestReceipt[] | undefined;
  dues: DueSum[] | undefined;
}

export async function readToday(db: Db): Promise<Figures> {
  const businesses = await readBusinesses(db);
  const [takings, appointments, starting, newest, dues] = await Promise.all([
    unlessTimeout(read(db, takingsQuery(businesses))),
    unlessTimeout(readAppointments(db)),
    unlessTimeout(read(db, startingQuery(businesses))),
    unlessTimeout(read(db, newestQuery)),
    unlessTimeout(read(db, duesQuery(businesses))),
  ]);
  return { takings, appointments, starting, newest, dues };
}
