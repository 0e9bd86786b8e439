import { type QueryExecutorProvider as Db, type RawBuilder, sql } from 'kysely';
import { addDays } from '../../common/days.ts';
import { viewColumn } from '../../receiver/store/view-columns.ts';
import { listNamed } from '../lists/definitions.ts';
import { type AgeSum, type ListQuery, type ListRow, queryRows, readAges } from '../lists/query.ts';
import { read as all, textArray, unlessTimeout } from '../lists/read.ts';

/** The days that the picture shows, with today. */
export const shownDays = 14;
/** The same weekdays before today that are "usual". */
export const usualWeeks = 8;

export interface Collected {
  clinic: string | null;
  /** Days before today. */
  ago: number;
  whole: number;
  /** Up to this time of the day. */
  soFar: number;
}

interface Billed {
  clinic: string | null;
  net: number;
  due: number;
}

interface DayCount {
  expected: number;
  cancelled: number;
}

/** Undefined: the query timed out. */
export interface Figures {
  collected: Slot[] | undefined;
  billed: Billed[] | undefined;
  ages: AgeSum[] | undefined;
  expected: DayCount | undefined;
  next: ListRow[] | undefined;
  newest: ListRow[] | undefined;
}

interface Part {
  limit: number;
  where?: RawBuilder<unknown>;
}

const read = <Row>(db: Db, query: RawBuilder<Row>) => unlessTimeout(all(db, query));

/** What was collected in ten minutes of a day. */
export interface Slot {
  clinic: string | null;
  /** From 0, at midnight. */
  slot: number;
  amount: number;
}

/** @param ago days before today */
export const readSlots = (db: Db, ago: number) =>
  read(
    db,
    sql<Slot>`
      select nullif(clinic_id, '') as clinic, sum(amount)::float8 as amount,
        floor(extract(epoch from (paid_at at time zone reporting.timezone())::time) / 600)::int as slot
      from reporting.payments where day = reporting.today() - ${ago}::int group by 1, slot`,
  );

/** @param time of the day, such as 11:05 */
export function collectedUntil(slots: readonly Slot[], ago: number, time: string): Collected[] {
  const [hour, minute] = time.split(':').map(Number);
  const now = Math.floor((60 * hour! + minute!) / 10);
  return [...new Set(slots.map(({ clinic }) => clinic))].map((clinic) => {
    const own = slots.filter((one) => one.clinic === clinic);
    const sum = (some: Slot[]) => some.reduce((total, { amount }) => total + amount, 0);
    return { clinic, ago, whole: sum(own), soFar: sum(own.filter(({ slot }) => slot <= now)) };
  });
}

/** The days before today that are shown, or tell what is usual. */
export const daysBefore = [
  ...Array.from({ length: shownDays - 1 }, (_, n) => n + 1),
  ...Array.from({ length: usualWeeks - 1 }, (_, n) => 7 * (n + 2)),
];

export async function readFigures(
  db: Db,
  base: Pick<ListQuery, 'businesses' | 'isPersonal'>,
  today: string,
): Promise<Figures> {
  const isTodays = sql`business_id = any(${textArray(base.businesses)}) and day = reporting.today()`;
  const personal = base.isPersonal ? ['name', 'mobile', 'patient_id'] : [];
  const readRows = (name: string, from: string, special: string[], part: Part) => {
    const query = { ...base, list: listNamed(name), filter: { from, to: today } };
    const columns = ['business_id', 'state', ...special, ...personal].map(viewColumn);
    return read(db, queryRows(query, columns, part));
  };
  const ofReceipt = ['receipt_id', 'receipt_number', 'issued_at', 'net_amount', 'delivery_id'];
  const isNext = sql`starts_at > now() - interval '30 minutes' and state in ('booked', 'ongoing')`;
  const [collected, billed, ages, expected, next, newest] = await Promise.all([
    readSlots(db, 0),
    read(
      db,
      sql<Billed>`
        select nullif(clinic_id, '') as clinic, coalesce(sum(net_amount), 0)::float8 as net, coalesce(sum(due_amount), 0)::float8 as due
        from reporting.receipts where ${isTodays} and not reporting.is_failed(status) group by 1`,
    ),
    unlessTimeout(readAges(db, { ...base, list: listNamed('unpaid'), filter: {} })),
    read(
      db,
      sql<DayCount>`
        select (count(*) filter (where state not like 'cancelled%'))::int as expected,
          (count(*) filter (where state like 'cancelled%'))::int as cancelled
        from reporting.schedule where ${isTodays}`,
    ),
    readRows('appointments', today, ['appointment_id', 'starts_at', 'doctor_id'], {
      limit: 6,
      where: isNext,
    }),
    readRows('receipts', addDays(today, -1), ofReceipt, { limit: 8 }),
  ]);
  return { collected, billed, ages, expected: expected?.[0], next, newest };
}

export interface Silent {
  business: string;
  since: string;
}

/** Businesses that have sent nothing for longer than usual. */
export const readSilent = (db: Db) =>
  all(
    db,
    sql<Silent>`select key::jsonb->>0 as business, reporting.day(last_at)::text as since from receiver.counters
      where name = 'silence' and key like '%, true]' limit 5`,
  );
