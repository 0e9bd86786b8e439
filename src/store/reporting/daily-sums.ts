import { type RawBuilder, sql } from 'kysely';
import { hasCode } from '../faults.ts';
import { type Fence, LeaseLost } from '../lease.ts';
import type { Db } from '../tables.ts';

// The sums of reports. `kept_<table>` has those of `live_<table>`, but for the days that `outdated_days` names;
// `summed_<table>` has both.

const ofActivities = [
  'receipts',
  'gross_amount',
  'discount_amount',
  'net_amount',
  'paid_amount',
  'due_amount',
  'deleted_receipts',
  'deleted_net_amount',
  'consent_forms',
  'review_requests',
  'item_discount_amount',
  'outstanding_receipts',
  'outstanding_net_amount',
  'outstanding_paid_amount',
  'outstanding_due_amount',
  'payment_requests',
  'requested_amount',
];

interface KeptTable {
  table: string;
  keys: readonly string[];
  values: readonly string[];
  /** Whether its `day` is the first of a month, and the sums are of the month. */
  ofMonths?: true;
}

/** The tables of each kind of sums; the further ones have the sums of the first over fewer keys. */
const keptTables = {
  activities: [
    { table: 'activities', keys: ['business_id', 'clinic_id', 'doctor_id', 'day'], values: ofActivities },
    { table: 'activity_days', keys: ['business_id', 'day'], values: ofActivities },
    {
      table: 'doctor_months',
      keys: ['business_id', 'clinic_id', 'doctor_id', 'day'],
      values: ofActivities,
      ofMonths: true,
    },
    { table: 'activity_months', keys: ['business_id', 'day'], values: ofActivities, ofMonths: true },
  ],
  appointments: [
    {
      table: 'appointments',
      keys: ['business_id', 'clinic_id', 'doctor_id', 'day', 'status'],
      values: ['appointments', 'completion_times'],
    },
    { table: 'appointment_days', keys: ['business_id', 'day', 'status'], values: ['appointments'] },
    {
      table: 'appointment_months',
      keys: ['business_id', 'day', 'status'],
      values: ['appointments'],
      ofMonths: true,
    },
  ],
  deliveries: [
    {
      table: 'deliveries',
      keys: ['business_id', 'family', 'day'],
      values: [
        'deliveries',
        'duplicates',
        'first_received_at',
        'last_received_at',
        'median_gap',
        'longest_gap',
        'reconciled',
      ],
    },
    {
      table: 'delivery_months',
      keys: ['business_id', 'family', 'day'],
      values: ['deliveries', 'duplicates', 'reconciled'],
      ofMonths: true,
    },
  ],
} satisfies Record<string, [KeptTable, ...KeptTable[]]>;
export type Sums = keyof typeof keptTables;
export const kindsOfSums = Object.keys(keptTables) as Sums[];

/** The tables that have these sums, without `kept_`. */
export function tablesOf(sums: Sums, of: 'days' | 'months' = 'days'): readonly string[] {
  const tables: readonly KeptTable[] = keptTables[sums];
  return tables.filter(({ ofMonths = false }) => ofMonths === (of === 'months')).map(({ table }) => table);
}

/** A day of a business, such as 2026-03-01. */
export interface DayOfBusiness {
  business_id: string;
  day: string;
}

const daysPerStep = 2_000;
const stepMs = 2_000;
const quickMs = 100;
const [serializationFailure, deadlockDetected] = ['40001', '40P01'];

const kept = (table: string) => sql.table(`kept_${table}`);
const listOf = (names: readonly string[], row: string) =>
  sql.join(names.map((name) => sql.ref(`${row}.${name}`)));

/** What a step of `updateSums` has done. */
export interface Updated {
  businesses: number;
  days: number;
  /** Whether the step ended before all was done. */
  hasMore: boolean;
  /** Whether another process has updated these sums, so that nothing was done. */
  isBusy: boolean;
}

/**
 * Makes sums of outdated days again: those of whole businesses for about two seconds, then those of 2,000 days. All of it is
 * one snapshot; a day that is changed meanwhile stays outdated.
 *
 * @param fence of the lease `leaseOfSums`
 * @throws the database's error
 */
export async function updateSums(db: Db, sums: Sums, fence?: Fence): Promise<Updated> {
  const busy = { businesses: 0, days: 0, hasMore: true, isBusy: true };
  try {
    return await inSnapshot(db, async (tx) => {
      const { rows } = await sql<{ business_id: string }>`
        select distinct business_id from outdated_days where sums = ${sums} and day = '-infinity' order by 1`.execute(
        tx,
      );
      const until = performance.now() + stepMs;
      let done = 0;
      // Ever more at once, while they are small.
      for (let size = 1; done < rows.length; ) {
        const began = performance.now();
        if (began > until) {
          await fence?.(tx);
          return { businesses: done, days: 0, hasMore: true, isBusy: false };
        }
        const businesses = rows.slice(done, done + size).map(({ business_id }) => business_id);
        await updateBusinesses(tx, sums, businesses);
        done += businesses.length;
        size = performance.now() - began < quickMs ? 2 * size : Math.max(1, size >> 1);
      }
      const days = await updateDays(tx, sums);
      await fence?.(tx);
      return { businesses: done, days, hasMore: days === daysPerStep, isBusy: false };
    });
  } catch (error) {
    // Another process has updated one of these days since this one took its snapshot, or an erasure deletes them in another order.
    if (hasCode(error, serializationFailure) || hasCode(error, deadlockDetected)) return busy;
    if (error instanceof LeaseLost) return busy;
    throw error;
  }
}

/** The name of the lease for updating sums. */
export const leaseOfSums = (sums: Sums) => `sums of ${sums}`;

/** The kinds of sums of which some are outdated. */
export async function findOutdated(db: Db): Promise<Sums[]> {
  const { rows } = await sql<{ sums: Sums }>`
    select sums from unnest(${kindsOfSums}::text[]) as kind (sums)
    where exists (select from outdated_days o where o.sums = kind.sums)`.execute(db);
  return rows.map(({ sums }) => sums);
}

/** Runs a function that sees one snapshot, for as long as it takes. */
export const inSnapshot = <T>(db: Db, run: (tx: Db) => Promise<T>): Promise<T> =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      await sql`set local statement_timeout = 0`.execute(tx);
      return run(tx);
    });

async function updateBusinesses(tx: Db, sums: Sums, businesses: readonly string[]): Promise<void> {
  const isOne = sql`business_id = any(${businesses}::text[])`;
  const ofBusinesses = (table: RawBuilder<unknown>) => sql`${table} t where t.${isOne}`;
  await sql`delete from outdated_days where sums = ${sums} and ${isOne}`.execute(tx);
  await replaceSums(tx, sums, (table) => sql`delete from ${ofBusinesses(table)}`, ofBusinesses);
}

async function updateDays(tx: Db, sums: Sums): Promise<number> {
  const { rows } = await sql<DayOfBusiness>`
    select distinct business_id, day::text as day from outdated_days
    where sums = ${sums} and day > '-infinity' limit ${daysPerStep}`.execute(tx);
  if (rows.length === 0) return 0;
  await sql`
    delete from outdated_days t using ${listed(rows)}
    where d.business_id = t.business_id and d.day = t.day and sums = ${sums}`.execute(tx);
  const daysOf = (ofMonths?: true) =>
    ofMonths ? sql`(select distinct business_id, month_of(day) as day from ${listed(rows)}) d` : listed(rows);
  await replaceSums(
    tx,
    sums,
    (table, ofMonths) =>
      sql`delete from ${table} t using ${daysOf(ofMonths)} where d.business_id = t.business_id and d.day = t.day`,
    (table, ofMonths) => sumsOfDays(table, daysOf(ofMonths), ofMonths),
  );
  return rows.length;
}

/** Rows of a table, or of the months that these are in. */
type RowsOf = (table: RawBuilder<unknown>, ofMonths?: true) => RawBuilder<unknown>;

/** Deletes the kept sums of some days, and makes them from the rows; then the further ones from the first. */
async function replaceSums(tx: Db, sums: Sums, deleteFrom: RowsOf, from: RowsOf): Promise<void> {
  const [first, ...further]: readonly KeptTable[] = keptTables[sums];
  const insert = async ({ table, keys, values, ofMonths }: KeptTable, selected: RawBuilder<unknown>) => {
    await deleteFrom(kept(table), ofMonths).execute(tx);
    // By name: somebody may have added columns.
    const names = sql.join([...keys, ...values].map((name) => sql.ref(name)));
    await sql`insert into ${kept(table)} (${names}) ${selected}`.execute(tx);
  };
  await insert(
    first!,
    sql`select ${listOf([...first!.keys, ...first!.values], 't')} from ${from(sql.table(`live_${first!.table}`))}`,
  );
  for (const summed of further) {
    const { keys, values, ofMonths } = summed;
    const ofKeys = sql.join(
      keys.map((key) => (key === 'day' ? dayOf(ofMonths) : sql`${sql.ref(`t.${key}`)}`)),
    );
    const sumsOf = sql.join(values.map((name) => sql`sum(${sql.ref(`t.${name}`)})`));
    await insert(
      summed,
      sql`select ${ofKeys}, ${sumsOf} from ${from(kept(first!.table), ofMonths)} group by ${ofKeys}`,
    );
  }
}

const dayOf = (ofMonths?: true) => (ofMonths ? sql`month_of(t.day)` : sql`t.day`);

/** A list of days as rows `d`. */
export const listed = (days: readonly DayOfBusiness[]) => sql`
  unnest(${days.map((day) => day.business_id)}::text[], ${days.map(({ day }) => day)}::date[]) as d (business_id, day)`;

/** The rows `t` of these days, or months, each looked up by itself, see db/reporting/1_activity_sums.sql. */
export const sumsOfDays = (table: RawBuilder<unknown>, days: RawBuilder<unknown>, ofMonths?: true) => sql`
  ${days} cross join lateral (
    select * from ${table} t where t.business_id = d.business_id and ${dayOf(ofMonths)} = d.day offset 0
  ) t`;

/**
 * Deletes the kept sums of outdated days, which nobody reads: they contain what was erased. The days are looked up in the
 * index; those of a business that is outdated as a whole, and did not change, stay.
 */
export async function deleteOutdatedSums(db: Db): Promise<void> {
  for (const sums of kindsOfSums) {
    const tables: readonly KeptTable[] = keptTables[sums];
    for (const { table, ofMonths } of tables) {
      await sql`
        delete from ${kept(table)} k
        using (
          select distinct business_id, ${ofMonths ? sql`month_of(day)` : sql`day`} as day
          from outdated_days where sums = ${sums} and day > '-infinity'
        ) o
        where k.business_id = o.business_id and k.day = o.day`.execute(db);
    }
  }
}

/** Makes all sums of a business outdated, or of every business. The worker, or `updateSums`, makes them again. */
export async function outdateSums(db: Db, sums: Sums, business?: string): Promise<void> {
  await (business === undefined
    ? sql`select outdate_all(${sums})`
    : sql`insert into outdated_days values (${sums}, ${business}, '-infinity')`
  ).execute(db);
}

/** The businesses that have rows or sums. */
export async function businessesWithSums(db: Db, sums: Sums): Promise<string[]> {
  const { rows } = await sql<{ business_id: string }>`
    select distinct business_id from businesses_with(${sums}) as business_id order by 1`.execute(db);
  return rows.map(({ business_id }) => business_id);
}
