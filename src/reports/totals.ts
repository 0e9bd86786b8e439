import { type RawBuilder, sql } from 'kysely';
import { addDays, addMonths, daysBetween, monthOf, monthStart } from '../common/days.ts';
import { read } from '../store/read.ts';
import type { Db } from '../store/tables.ts';
import { isSummable } from './column-kinds.ts';
import type { ReportFilter } from './filter.ts';
import { type Asked, askNewestDays, fromSums, isOfAge, pageRows, type ReportRow } from './queries.ts';
import { type Age, ages } from './ranges.ts';
import type { Report, ReportChart } from './report.ts';

/** Where no sums are kept, more rows are neither counted nor summed; and more are not sorted by a column. */
export const countedRows = ({ counted = 100_000 }: Report): number => counted;

export interface Totals {
  /** Undefined: the rows are themselves sums, and are not counted. */
  rows: number | undefined;
  /** Whether there are more rows than `countedRows`, and no sums of them are kept. */
  isCut: boolean;
  sums: ReportRow;
}

const monthDays = 31;

/** Sorting reads every row. @param totals undefined: counting them timed out */
export function isSortable(
  { report, isOfMany, filter: { business, from, to } }: Asked,
  totals?: Totals,
): boolean {
  if (report.many) return !isOfMany;
  if (totals?.rows !== undefined) return totals.rows <= countedRows(report);
  return Boolean(business || (from && to && daysBetween(from, to) < monthDays));
}

const summedColumns = ({ report, shown }: Asked) =>
  report.withoutTotals ? [] : shown.filter(isSummable).map(({ name }) => name);

/** The totals of a report that is not summed, and whose rows are one page: `silence` computes all of them anyway. */
async function totalsOfPage(
  asked: Asked,
  page: Promise<readonly ReportRow[] | undefined>,
): Promise<Totals | undefined> {
  const { report, filter } = asked;
  if (report.summed || summedColumns(asked).length > 0 || (filter.page ?? 1) > 1) return undefined;
  const rows = (await page)?.length;
  return rows === undefined || rows > pageRows ? undefined : { rows, isCut: false, sums: {} };
}

/** The number of a report's rows, and the sums of the columns that have one, of all pages. */
export async function readTotals(db: Db, asked: Asked): Promise<Totals> {
  const { report } = asked;
  const columns = summedColumns(asked);
  const summed = fromSums(asked);
  if (summed) {
    const kept = report.summed!.columns;
    const rows = sql.raw(kept.includes('rows') ? 'coalesce(sum(rows), 0)::integer' : 'null');
    const sums = sumsOf(columns.filter((name) => kept.includes(name)));
    const [totals] = await read(db, sql<Totals>`select ${rows} as rows, ${sums} as sums ${summed}`);
    return { rows: totals!.rows ?? undefined, isCut: false, sums: totals!.sums };
  }
  const names = columns.length > 0 ? sql.join(columns.map((name) => sql.ref(name))) : sql`1`;
  const count = ({ matching }: Asked) =>
    sql<{ rows: number; sums: ReportRow }>`
      select count(*)::integer as rows, ${sumsOf(columns)} as sums
      from (select ${names} ${matching} limit ${countedRows(report) + 1}) counted`;
  const { rows, sums } = await askNewestDays(
    asked,
    async (part) => (await read(db, count(part)))[0]!,
    (found) => found.rows > countedRows(report),
  );
  const isCut = rows > countedRows(report);
  return { rows, isCut, sums: isCut ? {} : sums };
}

const sumsOf = (names: readonly string[]) => {
  const sums = names.map((name) => sql`${sql.lit(name)}, sum(${sql.ref(name)})::text`);
  return sql`json_build_object(${sql.join(sums)})`;
};

/** The number and amount of dues of each age, whichever is asked for; undefined for a single receipt. */
export async function readAges(db: Db, asked: Asked) {
  const summed = fromSums({ ...asked, filter: { ...asked.filter, age: undefined } }, { byDay: true });
  if (!summed) return undefined;
  const names = Object.keys(ages) as Age[];
  const cases = names.map((age) => sql`when ${isOfAge(age)} then ${age}`);
  const totals = sql<{ age: Age; receipts: number; due: string }>`
    select case ${sql.join(cases, sql` `)} end as age, sum(receipts)::int as receipts, sum(due)::text as due
    from (
      select day, sum(rows) as receipts, sum(due_amount) as due
      ${summed}
      group by day
    ) as days
    where receipts > 0
    group by 1`;
  const found = await read(db, totals);
  return names.map((age) => found.find((one) => one.age === age) ?? { age, receipts: 0, due: '0' });
}

// More bars cannot be told apart.
const mostDays = 92;
const mostMonths = 120;

/** The totals of a report, and the figures of its chart unless there are too many rows. @param page of its rows */
export async function readSums(
  db: Db,
  asked: Asked,
  page: Promise<readonly ReportRow[] | undefined>,
): Promise<{ totals: Totals; figures?: Figures }> {
  const { chart } = asked.report;
  const summed = fromSums(asked);
  if (chart && summed && !chart.largest) return readTotalsAndChart(db, chart, asked, summed);
  const totals = (await totalsOfPage(asked, page)) ?? (await readTotals(db, asked));
  return { totals, ...(chart && !totals.isCut && { figures: await readChart(db, chart, asked) }) };
}

/** From one scan of the kept sums. */
async function readTotalsAndChart(
  db: Db,
  chart: ReportChart,
  asked: Asked,
  summed: RawBuilder<unknown>,
): Promise<{ totals: Totals; figures: Figures }> {
  const kept = asked.report.summed!.columns;
  const columns = summedColumns(asked).filter((name) => kept.includes(name));
  const { unit, group, shown } = shapeOf(chart, asked, true);
  const series = Object.entries(shown);
  const ofGroup = [
    ...series.map(([name, expression]) => sql`${sql.raw(expression)} as ${sql.ref(`series ${name}`)}`),
    ...columns.map((name) => sql`sum(${sql.ref(name)}) as ${sql.ref(name)}`),
    kept.includes('rows') ? sql`sum(rows) as rows` : sql`null::numeric as rows`,
  ];
  const figures = series.map(([name]) => sql`${sql.lit(name)}, ${sql.ref(`series ${name}`)}::text`);
  const query = sql<{ rows: number | null; sums: ReportRow; groups: ReportRow[] | null }>`
    select ${sql.raw(kept.includes('rows') ? 'coalesce(sum(rows), 0)::integer' : 'null')} as rows, ${sumsOf(columns)} as sums,
      json_agg(json_build_object('label', label::text, ${sql.join(figures)}) order by label) as groups
    from (select ${sql.raw(group)} as label, ${sql.join(ofGroup)} ${summed} group by 1) groups`;
  const [found] = await read(db, query);
  const { rows, sums, groups } = found!;
  return {
    totals: { rows: rows ?? undefined, isCut: false, sums },
    figures: drawn(groups ?? [], Object.keys(shown), unit, asked.filter),
  };
}

/** The figures of a report's chart. */
async function readChart(db: Db, chart: ReportChart, asked: Asked): Promise<Figures> {
  const summed = fromSums(asked, { byDoctor: /(clinic|doctor)_id/.test(chart.by ?? '') });
  const { unit, group, shown } = shapeOf(chart, asked, summed !== undefined);
  const names = Object.keys(shown);
  const figures = names.map((name) => sql`(${sql.raw(shown[name]!)})::text as ${sql.ref(name)}`);
  const order = chart.largest
    ? sql`order by ${sql.raw(Object.values(shown)[0]!)} desc nulls last limit ${chart.largest}`
    : sql`order by 1`;
  const query = sql<ReportRow>`
    select label::text as label, ${sql.join(names.map((name) => sql.ref(name)))} from (
      select ${sql.raw(group)} as label, ${sql.join(figures)} ${summed ?? asked.matching} group by 1 ${order}
    ) groups`;
  return drawn(await read(db, query), names, unit, asked.filter);
}

/** What a chart is grouped by, and the SQL expressions of its series. */
function shapeOf({ by, series }: ReportChart, { filter: { from, to } }: Asked, isSummed: boolean) {
  const days = from && to ? daysBetween(from, to) : Number.POSITIVE_INFINITY;
  const unit: 'day' | 'month' | undefined = by ? undefined : days < mostDays ? 'day' : 'month';
  const group = by ?? (unit === 'day' ? 'day' : 'month_of(day)');
  return { unit, group, shown: series ?? { count: isSummed ? 'coalesce(sum(rows), 0)' : 'count(*)' } };
}

export type Figures = ReturnType<typeof drawn>;

/** Days and months without rows have zeros. With `unit`, the groups are those, such as 2026-11-21 or 2026-11. */
function drawn(
  groups: readonly ReportRow[],
  names: readonly string[],
  unit: 'day' | 'month' | undefined,
  { from, to }: ReportFilter,
) {
  const found = groups.map(({ label }) => label ?? '');
  const all = unit && calendar(from ?? found[0], to ?? found.at(-1), unit);
  const keys = all && all.length <= mostMonths ? all : found;
  const labels = unit === 'month' ? keys.map(monthOf) : keys;
  const rowOf = new Map(groups.map((row) => [row.label ?? '', row]));
  return {
    unit,
    labels,
    series: names.map((name) => ({ name, values: keys.map((key) => rowOf.get(key)?.[name] ?? null) })),
  };
}

/** Every day, or the first day of every month, from the first to the last, or one more than is drawn. */
function calendar(first: string | undefined, last: string | undefined, unit: 'day' | 'month'): string[] {
  const found: string[] = [];
  if (!first || !last) return found;
  let at = unit === 'day' ? first : monthStart(first);
  while (found.length <= mostMonths && daysBetween(at, last) >= 0) {
    found.push(at);
    at = unit === 'day' ? addDays(at, 1) : addMonths(at, 1);
  }
  return found;
}
