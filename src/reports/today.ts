import { type QueryExecutorProvider as Db, type RawBuilder, sql } from 'kysely';
import { read, senders, unlessTimeout } from '../store/read.ts';

/** Amounts in rupees, as PostgreSQL writes them; null: no such day has receipts. */
export interface Takings {
  /** Null in the total: of all; elsewhere: receipts without a clinic. */
  clinic: string | null;
  isTotal: boolean;
  receipts: string;
  net: string;
  paid: string;
  due: string;
  usualNet: string | null;
  usualPaid: string | null;
  usualDue: string | null;
  yesterdayNet: string | null;
  yesterdayPaid: string | null;
  yesterdayDue: string | null;
}

/** How many of the same weekday before today are "usual". */
export const usualWeeks = 8;
export const mostClinics = 20;

// No sub-select: PostgreSQL pushes none down into a view of two parts.
const usualDays = sql`array[${sql.join(Array.from({ length: usualWeeks }, (_, n) => sql`reporting.today() - ${sql.lit(7 * (n + 1))}`))}]`;
const comparedDays = sql`(array[reporting.today(), reporting.today() - 1] || ${usualDays})`;

const titled = (name: string) => name[0]!.toUpperCase() + name.slice(1);

const sumsOf = (name: 'net' | 'paid' | 'due') => {
  const [usual, yesterday] = [sql.ref(`usual${titled(name)}`), sql.ref(`yesterday${titled(name)}`)];
  const column = sql.ref(name);
  return sql`
      coalesce(sum(${column}) filter (where day = reporting.today()), 0)::text as ${column},
      round((percentile_cont(0.5) within group (order by ${column}) filter (where day = any(${usualDays})))::numeric, 2)::text as ${usual},
      sum(${column}) filter (where day = reporting.today() - 1)::text as ${yesterday}`;
};

/** Takings up to this time of the day: the sums of all, then of the clinics with the largest. */
const takingsQuery = (businesses: RawBuilder<string[]>) => sql<Takings>`
    select clinic, "isTotal", coalesce(sum(receipts) filter (where day = reporting.today()), 0)::text as receipts,
      ${sql.join([sumsOf('net'), sumsOf('paid'), sumsOf('due')])}
    from (
      select clinic, grouping(clinic) = 1 as "isTotal", day, sum(receipts) as receipts, sum(net) as net, sum(paid) as paid, sum(due) as due
      from (
        -- Grouping sets would keep the conditions out of the view.
        select clinic_id as clinic, day, count(*) as receipts, sum(net_amount) as net, sum(paid_amount) as paid, sum(due_amount) as due
        from reporting.receipts
        where business_id = any(${businesses}) and day = any(${comparedDays})
          and issued_at <= (day + (now() at time zone reporting.timezone())::time) at time zone reporting.timezone()
        group by clinic_id, day
      ) as clinics
      group by grouping sets ((clinic, day), (day))
    ) as days
    group by clinic, "isTotal"
    order by "isTotal" desc, coalesce(sum(net) filter (where day = reporting.today()), 0) desc, clinic nulls last
    limit ${mostClinics + 1}`;

export interface StateCount {
  state: string;
  appointments: number;
  booked: number;
}

/** The appointments whose last change was received today, by their state; a change may be the booking. */
const appointmentsQuery = sql<StateCount>`
  select state, count(*)::int as appointments, (count(*) filter (where day = reporting.today()))::int as booked
  from reporting.appointments
  where business_id = any(${senders}) and reporting.day(received_at) = reporting.today()
  group by state order by appointments desc, state`;

/** The appointments that begin today and tomorrow, as far as their start is known. */
const startingQuery = (businesses: RawBuilder<string[]>) => sql<{
  day: string;
  isToday: boolean;
  expected: number;
  cancelled: number;
}>`
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
}

/** The receipts of today and yesterday that were last received. */
const newestQuery = sql<NewestReceipt>`
  select newest.business, newest.id, newest.number, newest.clinic, newest.doctor, newest.at, newest.net, newest.paid, newest.due
  from unnest(${senders}) as sender
  cross join lateral (
    select business_id as business, receipt_id::text as id, receipt_number as number, clinic_id as clinic,
      doctor_id as doctor, applied_at as at, net_amount as net, paid_amount as paid, due_amount as due
    from reporting.receipts
    where business_id = sender and reporting.day(received_at) >= reporting.today() - 1
    order by reporting.day(received_at) desc, applied_at desc limit 10
  ) as newest
  order by at desc limit 10`;

/** Dues that are as many days old today. */
const duesQuery = (businesses: RawBuilder<string[]>) => sql<{
  days: number;
  day: string;
  receipts: string;
  due: string;
}>`
  select days, (reporting.today() - days)::text as day, count(r.*)::text as receipts, coalesce(sum(due_amount), 0)::text as due
  from unnest(array[30, 90]) as days
  left join (
    select day, due_amount from reporting.outstanding_receipts
    where business_id = any(${businesses}) and day = any(array[reporting.today() - 30, reporting.today() - 90])
  ) as r on r.day = reporting.today() - days
  group by days order by days`;

export type Figures = Awaited<ReturnType<typeof readToday>>;

/** What depends on the tables below the views: every business, and what came today. */
export interface TodaySource {
  businesses: RawBuilder<string[]>;
  readAppointments: () => Promise<StateCount[]>;
  readNewest: () => Promise<NewestReceipt[]>;
}
const usualSource = (db: Db): TodaySource => ({
  businesses: senders,
  readAppointments: () => read(db, appointmentsQuery),
  readNewest: () => read(db, newestQuery),
});

/** Reads what the page Today shows. Undefined in it: the query timed out. */
export async function readToday(db: Db, source: TodaySource = usualSource(db)) {
  const { businesses, readAppointments, readNewest } = source;
  const [takings, appointments, starting, newest, dues] = await Promise.all([
    unlessTimeout(read(db, takingsQuery(businesses))),
    unlessTimeout(readAppointments()),
    unlessTimeout(read(db, startingQuery(businesses))),
    unlessTimeout(readNewest()),
    unlessTimeout(read(db, duesQuery(businesses))),
  ]);
  return { takings, appointments, starting, newest, dues };
}
