import { type QueryExecutorProvider as Db, sql } from 'kysely';
import { addDays } from '../../common/days.ts';
import { viewColumn } from '../../receiver/store/view-columns.ts';
import { duesByAge, listNamed } from '../lists/definitions.ts';
import {
  type ListQuery,
  type ListRow,
  type Part,
  queryRows,
  read,
  readGroups,
  textArray,
} from '../lists/query.ts';

export interface Collected {
  /** Null: nothing came or went back. */
  whole: number | null;
  /** Up to this time of the day. */
  soFar: number;
}

export async function readCollected(db: Db, day: string): Promise<Collected> {
  const query = sql<Collected>`
    select sum(amount)::float8 as whole, coalesce(sum(amount) filter (where (paid_at at time zone reporting.timezone())::time
      <= (now() at time zone reporting.timezone())::time), 0)::float8 as "soFar"
    from reporting.payments where day = ${day}::date`;
  return (await read(db, query))[0]!;
}

export interface Figures {
  clinics: ListRow[];
  ages: ListRow[];
  expected: { expected: number; cancelled: number };
  next: ListRow[];
  newest: ListRow[];
}

export async function readFigures(
  db: Db,
  base: Pick<ListQuery, 'businesses' | 'isPersonal'>,
  today: string,
): Promise<Figures> {
  const isTodays = sql`business_id = any(${textArray(base.businesses)}) and day = reporting.today()`;
  const personal = base.isPersonal ? ['name', 'mobile', 'patient_id'] : [];
  const readRows = (name: string, from: string, special: string[], part: Part) => {
    const query = { ...base, list: listNamed(name), entered: {}, from, to: today };
    const columns = ['business_id', 'state', ...special, ...personal].map(viewColumn);
    return read(db, queryRows(query, columns, part));
  };
  const ofReceipt = ['receipt_id', 'receipt_number', 'issued_at', 'net_amount', 'delivery_id'];
  const ofAppointment = ['appointment_id', 'starts_at', 'doctor_id'];
  const isNext = sql`starts_at > now() - interval '30 minutes' and state in ('booked', 'ongoing')`;
  const expected = sql<Figures['expected']>`
    select (count(*) filter (where state not like 'cancelled%'))::int as expected,
      (count(*) filter (where state like 'cancelled%'))::int as cancelled
    from reporting.schedule where ${isTodays}`;
  return {
    clinics: await readGroups(db, {
      ...base,
      list: listNamed('takings-by-clinic'),
      entered: {},
      from: today,
      to: today,
    }),
    ages: await readGroups(db, { ...base, list: duesByAge, entered: {} }),
    expected: (await read(db, expected))[0]!,
    next: await readRows('appointments', today, ofAppointment, { limit: 6, where: isNext }),
    newest: await readRows('receipts', addDays(today, -1), ofReceipt, { limit: 8 }),
  };
}

export interface Silent {
  business: string;
  since: string;
}

/** Businesses that have sent nothing for longer than usual. */
export const readSilent = (db: Db) =>
  read(
    db,
    sql<Silent>`select key::jsonb->>0 as business, reporting.day(last_at)::text as since from receiver.counters
      where name = 'silence' and key like '%, true]' limit 5`,
  );
