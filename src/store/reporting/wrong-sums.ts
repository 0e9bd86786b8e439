import { type RawBuilder, sql } from 'kysely';
import { monthOf } from '../../common/days.ts';
import type { Db } from '../tables.ts';
import { type DayOfBusiness, inSnapshot, listed, type Sums, sumsOfDays, tablesOf } from './daily-sums.ts';

/**
 * Compares the kept sums of a business with its rows, in one snapshot.
 *
 * @param since the first day, such as 2026-03-01
 * @returns the days whose sums are wrong, although they are not outdated; where only the month's are, its first
 */
export const findWrongSums = (db: Db, sums: Sums, business: string, since = '-infinity') =>
  inSnapshot(db, (tx) => {
    const ofBusiness = (table: RawBuilder<unknown>) =>
      sql`select * from ${table} where business_id = ${business} and day >= ${since}::date`;
    return findDifferences(tx, sums, ofBusiness);
  });

/**
 * Compares the kept sums of some random days of random businesses, see `findWrongSums`. From the year 2000 to a year ahead:
 * one record of the year 1 or 9999 would make millions of days.
 */
export const sampleWrongSums = (db: Db, sums: Sums, days: number) =>
  inSnapshot(db, async (tx) => {
    const { rows } = await sql<DayOfBusiness>`
      select business_id, day::date::text as day
      from (select distinct business_id from ${sql.table(`kept_${sums}`)}) businesses,
        (
          select min(day) as first, max(day) as last from ${sql.table(`kept_${sums}`)}
          where day between '2000-01-01' and reporting.today() + 366
        ) days,
        generate_series(first, last, interval '1 day') as day
      order by random() limit ${days}`.execute(tx);
    return findDifferences(tx, sums, (table) => sql`select t.* from ${sumsOfDays(table, listed(rows))}`);
  });

/** Records wrong sums, and makes them outdated, so that they are made again. */
export async function recordWrongSums(db: Db, sums: Sums, days: readonly DayOfBusiness[]): Promise<void> {
  await sql`
    with wrong as (select business_id, day from ${listed(days)}), recorded as (
      insert into wrong_sums (sums, business_id, day) select ${sums}, business_id, day from wrong
      on conflict (sums, business_id, day) do update set found_at = excluded.found_at
    )
    insert into outdated_days select ${sums}, business_id, day from wrong`.execute(db);
}

/** Forgets which sums were wrong, once all are made again. */
export const forgetWrongSums = async (db: Db): Promise<void> => {
  await sql`delete from wrong_sums`.execute(db);
};

/** The days in which what the views show differs from the rows; of a month whose days are right, the first. */
async function findDifferences(
  tx: Db,
  sums: Sums,
  select: (view: RawBuilder<unknown>) => RawBuilder<unknown>,
): Promise<DayOfBusiness[]> {
  const find = async (tables: readonly string[]) => {
    const differences = tables.map(
      (table) => sql`
        select business_id, day from (
          with shown as materialized (${select(sql.table(`summed_${table}`))}),
            live as materialized (${select(sql.table(`live_${table}`))})
          (table shown except all table live) union all (table live except all table shown)
        ) of_table`,
    );
    const { rows } = await sql<DayOfBusiness>`
      select distinct business_id, day::text as day from (${sql.join(differences, sql` union all `)}) wrong
      order by 1, 2`.execute(tx);
    return rows;
  };
  const days = await find(tablesOf(sums));
  const months = await find(tablesOf(sums, 'months'));
  const isOfWrongDay = (month: DayOfBusiness) =>
    days.some(
      ({ business_id, day }) => business_id === month.business_id && monthOf(day) === monthOf(month.day),
    );
  return [...days, ...months.filter((month) => !isOfWrongDay(month))];
}
