import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../store/tables.ts';
import { BadInput } from '../errors.ts';
import { allOf, businesses, read } from '../store.ts';
import { isSummable } from '../ui/field-value.tsx';
import { formatDay } from '../ui/time.ts';
import { filtersOf, readColumns } from './columns.ts';
import { pageRows, type ReportFilter, readReportForm } from './form.ts';
import { type Age, ages } from './ranges.ts';
import type { Report, ReportChart } from './reports.ts';

/** A row of a report, every value as text. */
export type ReportRow = Readonly<Record<string, string | null>>;

export type Asked = Awaited<ReturnType<typeof askReport>>;
type Filters = ReturnType<typeof filtersOf>;
type Question = Pick<Asked, 'report' | 'filters' | 'filter'>;

/**
 * Reads what a form asks of a report: its columns, those that are `shown`, and the rows that are `matching`.
 *
 * @param revealed whether columns with personal data are shown
 * @throws BadInput
 */
export async function askReport(
  db: Db,
  report: Report,
  form: Record<string, unknown>,
  timezone: string,
  revealed: boolean,
) {
  const asked = readReportForm(form, report, timezone);
  const columns = await readColumns(db, report);
  const shown = columns.filter(({ personal }) => revealed || !personal);
  const sort = asked.filter.sort?.replace('-', '');
  if (sort && !shown.some(({ name }) => name === sort)) throw new BadInput('Unknown column.');
  const filters = filtersOf(report, columns);
  return { ...asked, report, columns, shown, filters, matching: fromView(report, filters, asked.filter) };
}

/** The part of a query that begins with `from`. */
function fromView(report: Report, filters: Filters, filter: ReportFilter, further?: RawBuilder<unknown>) {
  const { view, rowsOf } = report;
  const source =
    rowsOf === undefined || isNow(filter)
      ? sql.table(`reporting.${rowsOf ?? view}`)
      : sql`${sql.table(`reporting.${view}`)}(${filter.at}::timestamptz)`;
  const conditions = allOf([
    conditionsOf(filters, filter),
    report.leadsWithBusiness && !filter.business && sql`business_id = any(array${businesses})`,
    further,
  ]);
  return sql`from ${source} where ${conditions}`;
}

/** Whether nothing can have been applied after the moment that is asked for: without one, or in the future. */
const isNow = ({ at }: ReportFilter) => at === undefined || at.getTime() > Date.now();

function conditionsOf(filters: Filters, filter: ReportFilter) {
  const { from, to, age } = filter;
  const given = (['business', 'clinic', 'doctor', 'receipt'] as const).map((name) => {
    const [column, value] = [filters[name], filter[name]];
    return column && value && sql`${sql.ref(column)} = ${value}`;
  });
  return allOf([
    sql`true`,
    ...given,
    filters.from && from && sql`day >= ${from}::date`,
    filters.to && to && sql`day <= ${to}::date`,
    filters.age && age && isOfAge(age),
  ]);
}

/** As `fromView`, of the sums of the rows; undefined: they are not kept, or not by what is filtered or grouped by. */
function fromSums({ report: { summed, rowsOf }, filters, filter }: Question, byDoctor = false) {
  const isOfDoctor = byDoctor || Boolean(filter.clinic || filter.doctor);
  if (!summed || filter.receipt || (rowsOf && !isNow(filter)) || (isOfDoctor && !summed.byDoctor))
    return undefined;
  const keys = byDoctor ? ['day', 'clinic_id', 'doctor_id'] : ['day'];
  return sql`from (${summed.from(isOfDoctor, keys, conditionsOf(filters, filter))}) summed`;
}

/** By the day, because that has an index. */
function isOfAge(age: Age): RawBuilder<boolean> {
  const [least, greatest] = ages[age];
  return sql<boolean>`(day between coalesce(reporting.today() - ${greatest}::int, '-infinity')
    and coalesce(reporting.today() - ${least}::int, 'infinity'))`;
}

/**
 * The query for the rows of a report, every value cast to text. Rows that are equal in the column they are sorted by
 * have the report's own order.
 *
 * @param page from 1, with the first row of the next one; without it, all rows
 */
export function queryRows({ report, shown, matching, filter: { sort } }: Asked, page?: number) {
  const names = shown.map(({ name }) => sql.ref(name));
  const texts = names.map((name) => sql`${name}::text as ${name}`);
  const sorted =
    sort && sql`${sql.ref(sort.replace('-', ''))} ${sort.startsWith('-') ? sql`desc` : sql`asc`} nulls last,`;
  return sql<ReportRow>`select ${sql.join(texts)} from (
    select ${sql.join(names)} ${matching}
    order by ${sorted || sql``} ${sql.raw(report.order)}
    ${page ? sql`limit ${pageRows + 1} offset ${(page - 1) * pageRows}` : sql``}) as rows`;
}

const windows = [1, 3, 9, 27, 81, 243, 729];

/**
 * Asks for ever more of the newest days until that suffices, as far as these are fewer than the days of the question; then for all.
 * Where the newest days do not come first, for all at once.
 */
async function askNewestDays<T>(
  asked: Asked,
  ask: (part: Asked) => Promise<T>,
  suffices: (result: T) => boolean,
): Promise<T> {
  const { report, filters, filter } = asked;
  const { from, to } = filter;
  const asMany = from && to ? (Date.parse(to) - Date.parse(from)) / dayMs + 1 : Number.POSITIVE_INFINITY;
  for (const days of report.newestDayFirst && !filter.receipt ? windows : []) {
    if (days >= asMany) break;
    const newest = sql`day > least(${to}::date, reporting.today()) - ${days}::integer`;
    const result = await ask({ ...asked, matching: fromView(report, filters, filter, newest) });
    if (suffices(result)) return result;
  }
  return ask(asked);
}

/**
 * Reads a page of a report, and the first row of the next one.
 *
 * @param page from 1
 */
export const readPage = (db: Db, asked: Asked, page: number): Promise<ReportRow[]> =>
  asked.filter.sort
    ? read(db, queryRows(asked, page))
    : askNewestDays(
        asked,
        (part) => read(db, queryRows(part, page)),
        (rows) => rows.length > pageRows,
      );

export type RowsSummary = { rows: number; patients: string[] };

/** The query for how many rows there are, and the patients that they are about, if the patients' ids are shown. */
export function querySummary({ shown, matching }: Asked) {
  const has = (column: string) => shown.some(({ name }) => name === column);
  const patients = has('patient_id')
    ? sql`coalesce(array_agg(distinct patient_id) filter (where patient_id <> ''), '{}')`
    : has('patient_ids')
      ? sql`array(select distinct jsonb_array_elements_text(patient_ids) ${matching})`
      : sql`'{}'::text[]`;
  return sql<RowsSummary>`select count(*)::int as rows, ${patients} as patients ${matching}`;
}

export const patientsOf = (rows: readonly ReportRow[]): string[] =>
  rows.flatMap(({ patient_id, patient_ids }) => (patient_ids ? JSON.parse(patient_ids) : patient_id || []));

/** Where no sums are kept, more rows are neither counted nor summed; and more are not sorted by a column. */
export const countedRows = 100_000;

export interface Totals {
  /** Undefined: the rows are themselves sums, and are not counted. */
  rows: number | undefined;
  /** Whether there are more rows than `countedRows`, and no sums of them are kept. */
  isCut: boolean;
  sums: ReportRow;
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
      from (select ${names} ${matching} limit ${countedRows + 1}) counted`;
  const { rows, sums } = await askNewestDays(
    asked,
    async (part) => (await read(db, count(part)))[0]!,
    (found) => found.rows > countedRows,
  );
  const isCut = rows > countedRows;
  return { rows, isCut, sums: isCut ? {} : sums };
}

const sumsOf = (names: readonly string[]) => {
  const sums = names.map((name) => sql`${sql.lit(name)}, sum(${sql.ref(name)})::text`);
  return sql`json_build_object(${sql.join(sums)})`;
};

/** The number and amount of dues of each age, whichever is asked for. */
export async function readAges(db: Db, asked: Asked) {
  const names = Object.keys(ages) as Age[];
  const cases = names.map((age) => sql`when ${isOfAge(age)} then ${age}`);
  const totals = sql<{ age: Age; receipts: number; due: string }>`
    select case ${sql.join(cases, sql` `)} end as age, sum(receipts)::int as receipts, sum(due)::text as due
    from (
      select day, sum(rows) as receipts, sum(due_amount) as due
      ${fromSums({ ...asked, filter: { ...asked.filter, age: undefined } })!}
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
const dayMs = 86_400_000;

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
      json_agg(json_build_object('label', label, ${sql.join(figures)}) order by label) as groups
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
  const summed = fromSums(asked, /(clinic|doctor)_id/.test(chart.by ?? ''));
  const { unit, group, shown } = shapeOf(chart, asked, summed !== undefined);
  const names = Object.keys(shown);
  const figures = names.map((name) => sql`(${sql.raw(shown[name]!)})::text as ${sql.ref(name)}`);
  const order = chart.largest
    ? sql`order by ${sql.raw(Object.values(shown)[0]!)} desc nulls last limit ${chart.largest}`
    : sql`order by 1`;
  const query = sql<ReportRow>`
    select ${sql.raw(group)} as label, ${sql.join(figures)} ${summed ?? asked.matching} group by 1 ${order}`;
  return drawn(await read(db, query), names, unit, asked.filter);
}

/** What a chart is grouped by, and the SQL expressions of its series. */
function shapeOf({ by, series }: ReportChart, { filter: { from, to } }: Asked, isSummed: boolean) {
  const days = from && to ? (Date.parse(to) - Date.parse(from)) / dayMs : Number.POSITIVE_INFINITY;
  const unit: 'day' | 'month' | undefined = by ? undefined : days < mostDays ? 'day' : 'month';
  const group = by ?? (unit === 'day' ? 'day::text' : `to_char(day, 'YYYY-MM')`);
  return { unit, group, shown: series ?? { count: isSummed ? 'coalesce(sum(rows), 0)' : 'count(*)' } };
}

export type Figures = ReturnType<typeof drawn>;

/** Days and months without rows have zeros. With `unit`, the groups are those. */
function drawn(
  groups: readonly ReportRow[],
  names: readonly string[],
  unit: 'day' | 'month' | undefined,
  { from, to }: ReportFilter,
) {
  const found = groups.map(({ label }) => label ?? '');
  const all = unit && calendar(from ?? found[0], to ?? found.at(-1), unit);
  const labels = all && all.length <= mostMonths ? all : found;
  const rowOf = new Map(groups.map((row) => [row.label ?? '', row]));
  return {
    unit,
    labels: unit ? labels.map(formatDay) : labels,
    series: names.map((name) => ({ name, values: labels.map((label) => rowOf.get(label)?.[name] ?? null) })),
  };
}

/** Every day or month, such as 2026-11-21 or 2026-11, from the first to the last. */
function calendar(first: string | undefined, last: string | undefined, unit: 'day' | 'month'): string[] {
  const length = unit === 'day' ? 10 : 7;
  const found: string[] = [];
  if (!first || !last) return found;
  const at = new Date(first.slice(0, length));
  while (found.length <= mostMonths && at.toISOString().slice(0, length) <= last.slice(0, length)) {
    found.push(at.toISOString().slice(0, length));
    if (unit === 'day') at.setUTCDate(at.getUTCDate() + 1);
    else at.setUTCMonth(at.getUTCMonth() + 1);
  }
  return found;
}
