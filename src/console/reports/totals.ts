import { type QueryExecutorProvider as Db, sql } from 'kysely';
import { isSummable } from './column-kinds.ts';
import { type Asked, isOfAge, matchingOf, type ReportRow } from './queries.ts';
import { type Age, ages } from './ranges.ts';
import { read } from './read.ts';

/** More rows are neither counted nor summed, nor sorted by a column. */
export const countedRows = 100_000;

export interface Totals {
  /** At most one more than `countedRows`: then there are no sums. */
  rows: number;
  sums: ReportRow;
}

/** The number of a report's rows, and the sums of the columns that have one, of all pages. */
export async function readTotals(db: Db, { report, columns, matching }: Asked): Promise<Totals> {
  const summed = report.withoutTotals ? [] : columns.filter(isSummable).map(({ name }) => name);
  const names = summed.length > 0 ? sql.join(summed.map((name) => sql.ref(name))) : sql`1`;
  const sums = summed.map((name) => sql`${sql.lit(name)}, sum(${sql.ref(name)})::text`);
  const [totals] = await read(
    db,
    sql<Totals>`
      select count(*)::integer as rows, json_build_object(${sql.join(sums)}) as sums
      from (select ${names} ${matching} limit ${countedRows + 1}) counted`,
  );
  return totals!.rows > countedRows ? { ...totals!, sums: {} } : totals!;
}

/** The number and amount of dues of each age, whichever is asked for. */
export async function readAges(db: Db, asked: Asked) {
  const names = Object.keys(ages) as Age[];
  const cases = names.map((age) => sql`when ${isOfAge(age)} then ${age}`);
  const found = await read(
    db,
    sql<{ age: Age; receipts: number; due: string }>`
      select case ${sql.join(cases, sql` `)} end as age, count(*)::int as receipts, sum(due_amount)::text as due
      ${matchingOf({ ...asked, filter: { ...asked.filter, age: undefined } })} group by 1`,
  );
  return names.map((age) => found.find((one) => one.age === age) ?? { age, receipts: 0, due: '0' });
}
