import { type RawBuilder, sql } from 'kysely';
import { daysBetween } from '../common/days.ts';
import { allOf, businesses, read } from '../store/read.ts';
import type { Db } from '../store/tables.ts';
import { filtersOf, type ReportColumn } from './columns.ts';
import type { ReportFilter } from './filter.ts';
import type { Period } from './periods.ts';
import { type Age, ages, wholeMonths } from './ranges.ts';
import type { Report } from './report.ts';

export const pageRows = 200;

/** A row of a report, every value as text. */
export type ReportRow = Readonly<Record<string, string | null>>;

export type Asked = Awaited<ReturnType<typeof askReport>>;
type Filters = ReturnType<typeof filtersOf>;
type Filtered = Pick<Asked, 'report' | 'filters' | 'filter'>;

interface Question {
  report: Report;
  columns: readonly ReportColumn[];
  /** Those of the columns that are shown. */
  shown: readonly ReportColumn[];
  filter: ReportFilter;
}

/** Decides how a report is read: what it can be filtered by, and which rows are `matching`. */
export async function askReport(db: Db, { report, columns, shown, filter: given }: Question) {
  const filters = filtersOf(report, columns);
  const filter = knownOf(given, filters);
  const isOfMany = await hasMany(db, { report, filters, filter });
  const matching = fromView(report, filters, filter, isOfMany);
  return { report, columns, shown, filter, filters, isOfMany, matching };
}

/** The same, of other days. */
export function during(asked: Asked, { from, to }: Period): Asked {
  const { report, filters, isOfMany } = asked;
  const filter = { ...asked.filter, from, to };
  return { ...asked, filter, matching: fromView(report, filters, filter, isOfMany) };
}

/** What a report has no column for does not filter it. */
function knownOf(filter: ReportFilter, filters: Filters): ReportFilter {
  const missing = Object.entries(filters).filter(([, column]) => !column);
  return { ...filter, ...Object.fromEntries(missing.map(([name]) => [name, undefined])) };
}

/** Whether the rows are of so many receipts that they are read in the order of an index. */
async function hasMany(db: Db, question: Filtered): Promise<boolean> {
  const { many } = question.report;
  if (!many) return false;
  const [found] = await read(
    db,
    sql<{
      isOfMany: boolean;
    }>`select coalesce(sum(receipts), 0) > ${many.over} as "isOfMany" ${fromSums(question)}`,
  );
  return found!.isOfMany;
}

/** The part of a query that begins with `from`. */
function fromView(
  report: Report,
  filters: Filters,
  filter: ReportFilter,
  isOfMany: boolean,
  further?: RawBuilder<unknown>,
) {
  const { view, rowsOf, many } = report;
  const source = isOfMany
    ? sql.table(many!.view)
    : rowsOf === undefined || isNow(filter)
      ? sql.table(`reporting.${rowsOf ?? view}`)
      : sql`${sql.table(`reporting.${view}`)}(${filter.at}::timestamptz)`;
  const conditions = allOf([
    conditionsOf(filters, filter),
    report.leadsWithBusiness && !filter.business && sql`business_id = any(array${businesses})`,
    further,
  ]);
  return sql`from ${source} where ${conditions}`;
}

/** Nothing can have been applied after the moment that is asked for: there is none, or it is in the future. */
const isNow = ({ at }: ReportFilter) => at === undefined || at.getTime() > Date.now();

function conditionsOf(filters: Filters, filter: ReportFilter) {
  const { from, to, age, since } = filter;
  const given = (['business', 'clinic', 'doctor', 'receipt', 'patient'] as const).map((name) => {
    const [column, value] = [filters[name], filter[name]];
    return column && value && sql`${sql.ref(column)} = ${value}`;
  });
  return allOf([
    sql`true`,
    ...given,
    filters.from && from && sql`day >= ${from}::date`,
    filters.to && to && sql`day <= ${to}::date`,
    filters.age && age && isOfAge(age),
    filters.since && since && sql`${sql.ref(filters.since)} >= ${since}`,
  ]);
}

interface Grouping {
  byDoctor?: boolean;
  byBusiness?: boolean;
  /** Otherwise a row may be of a whole month, by its first day. */
  byDay?: boolean;
}

/** As `fromView`, of the sums of the rows; undefined: they are not kept, or not by what is filtered or grouped by. */
export function fromSums(
  { report: { summed, rowsOf }, filters, filter }: Filtered,
  { byDoctor = false, byBusiness = false, byDay = false }: Grouping = {},
) {
  const isOfDoctor = byDoctor || Boolean(filter.clinic || filter.doctor);
  if (
    !summed ||
    filter.receipt ||
    filter.patient ||
    filter.since ||
    (rowsOf && !isNow(filter)) ||
    (isOfDoctor && !summed.byDoctor)
  )
    return undefined;
  const keys = [
    'day',
    ...(byDoctor ? ['clinic_id', 'doctor_id'] : []),
    ...(byBusiness ? ['business_id'] : []),
  ];
  const months = byDay || filter.age ? undefined : wholeMonths(filter.from, filter.to);
  return sql`from (${summed.from(isOfDoctor, keys, conditionsOf(filters, filter), months)}) summed`;
}

/** By the day, because that has an index. */
export function isOfAge(age: Age): RawBuilder<boolean> {
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
export function queryRows(asked: Asked, page?: number) {
  const { shown, matching } = asked;
  const names = shown.map(({ name }) => sql.ref(name));
  const texts = names.map((name) => sql`${name}::text as ${name}`);
  return sql<ReportRow>`select ${sql.join(texts)} from (
    select ${sql.join(names)} ${matching} ${orderOf(asked)}
    ${page ? sql`limit ${pageRows + 1} offset ${(page - 1) * pageRows}` : sql``}) as rows`;
}

function orderOf({ report, filter: { sort }, isOfMany }: Asked) {
  const order = sql.raw(isOfMany ? report.many!.order : report.order);
  if (!sort) return sql`order by ${order}`;
  const direction = sort.startsWith('-') ? sql`desc` : sql`asc`;
  return sql`order by ${sql.ref(sort.replace('-', ''))} ${direction} nulls last, ${order}`;
}

/** The same question of the rows of its page alone. */
export function onePage(asked: Asked): Asked {
  const names = asked.columns.map(({ name }) => sql.ref(name));
  const first = ((asked.filter.page ?? 1) - 1) * pageRows;
  const page = sql`select ${sql.join(names)} ${asked.matching} ${orderOf(asked)} limit ${pageRows} offset ${first}`;
  return { ...asked, isOfMany: false, matching: sql`from (${page}) as page` };
}

const windows = [1, 3, 9, 27, 81, 243, 729];

/**
 * Asks for ever more of the newest days until that suffices, as far as these are fewer than the days of the question; then for all.
 * Where the newest days do not come first, for all at once.
 */
export async function askNewestDays<T>(
  asked: Asked,
  ask: (part: Asked) => Promise<T>,
  suffices: (result: T) => boolean,
): Promise<T> {
  const { report, filters, filter, isOfMany } = asked;
  const { from, to } = filter;
  const asMany = from && to ? daysBetween(from, to) + 1 : Number.POSITIVE_INFINITY;
  for (const days of report.newestDayFirst && !filter.receipt ? windows : []) {
    if (days >= asMany) break;
    const newest = sql`day > least(${to}::date, reporting.today()) - ${days}::integer`;
    const result = await ask({ ...asked, matching: fromView(report, filters, filter, isOfMany, newest) });
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
