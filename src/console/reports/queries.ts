import { type QueryExecutorProvider as Db, type RawBuilder, sql } from 'kysely';
import { daysBetween } from '../../common/days.ts';
import type { ReportFilter } from './filter.ts';
import { type Age, ages } from './ranges.ts';
import { allOf, read } from './read.ts';
import type { Report } from './report.ts';
import { filtersOf, type ReportColumn } from './view-columns.ts';

export const pageRows = 200;

/** A row of a report, every value as text. */
export type ReportRow = Readonly<Record<string, string | null>>;

/** How a report is read. */
export interface Asked extends Question {
  filters: Filters;
  matching: RawBuilder<unknown>;
}
type Filters = ReturnType<typeof filtersOf>;
type Filtered = Pick<Asked, 'report' | 'filters' | 'filter' | 'businesses'>;

interface Question {
  report: Report;
  columns: readonly ReportColumn[];
  filter: ReportFilter;
  /** Every business, for the indexes that begin with it. */
  businesses: RawBuilder<string[]>;
}

/** Decides how a report is read: what it can be filtered by, and which rows are `matching`. */
export function askReport({ report, columns, filter: given, businesses }: Question): Asked {
  const filters = filtersOf(report, columns);
  const filter = knownOf(given, filters);
  const matching = matchingOf({ report, filters, filter, businesses });
  return { report, columns, filter, businesses, filters, matching };
}

/** What a report has no column for does not filter it. */
function knownOf(filter: ReportFilter, filters: Filters): ReportFilter {
  const missing = Object.entries(filters).filter(([, column]) => !column);
  return { ...filter, ...Object.fromEntries(missing.map(([name]) => [name, undefined])) };
}

/** The part of a query that begins with `from`. */
export function matchingOf({ report, filters, filter, businesses }: Filtered, further?: RawBuilder<unknown>) {
  const { view, rowsOf } = report;
  const source =
    rowsOf === undefined || isNow(filter)
      ? sql.table(`reporting.${rowsOf ?? view}`)
      : sql`${sql.table(`reporting.${view}`)}(${filter.at}::timestamptz)`;
  const conditions = allOf([
    conditionsOf(filters, filter),
    report.leadsWithBusiness && !filter.business && sql`business_id = any(${businesses})`,
    further,
  ]);
  return sql`from ${source} where ${conditions}`;
}

/** Nothing can have been applied after the moment that is asked for: there is none, or it is in the future. */
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

/** By the day, because that has an index. */
export function isOfAge(age: Age): RawBuilder<boolean> {
  const [least, greatest] = ages[age];
  return sql<boolean>`(day between coalesce(reporting.today() - ${greatest}::int, '-infinity')
    and coalesce(reporting.today() - ${least}::int, 'infinity'))`;
}

/** As many characters as a cell of Excel takes: a field may have a hundred thousand, and a page or a batch has hundreds of rows. */
const maxText = 32_767;
const shortOf = (name: RawBuilder<unknown>, type: string) =>
  type === 'text' || type === 'jsonb'
    ? sql`case when length(${name}::text) > ${maxText} then left(${name}::text, ${maxText - 1}) || '…' else ${name}::text end`
    : sql`${name}::text`;

/**
 * The query for the rows of a report, every value cast to text. Rows that are equal in the column they are sorted by
 * have the report's own order.
 *
 * @param page from 1, with the first row of the next one; without it, all rows
 */
export function queryRows(asked: Asked, page?: number) {
  const { columns, matching } = asked;
  const names = columns.map(({ name }) => sql.ref(name));
  const texts = columns.map(({ name, type }) => sql`${shortOf(sql.ref(name), type)} as ${sql.ref(name)}`);
  return sql<ReportRow>`select ${sql.join(texts)} from (
    select ${sql.join(names)} ${matching} ${orderOf(asked)}
    ${page ? sql`limit ${pageRows + 1} offset ${(page - 1) * pageRows}` : sql``}) as rows`;
}

function orderOf({ report, filter: { sort } }: Asked) {
  const order = sql.raw(report.order);
  if (!sort) return sql`order by ${order}`;
  const direction = sort.startsWith('-') ? sql`desc` : sql`asc`;
  return sql`order by ${sql.ref(sort.replace('-', ''))} ${direction} nulls last, ${order}`;
}

const windows = [1, 3, 9, 27, 81, 243, 729];

/**
 * Reads a page of a report, and the first row of the next one: of ever more of the newest days, where these come first, as far as
 * they are fewer than the days that are asked for.
 *
 * @param page from 1
 */
export async function readPage(db: Db, asked: Asked, page: number): Promise<ReportRow[]> {
  const { report, filter } = asked;
  const { from, to } = filter;
  const asMany = from && to ? daysBetween(from, to) + 1 : Number.POSITIVE_INFINITY;
  for (const days of report.newestDayFirst && !filter.sort && !filter.receipt ? windows : []) {
    if (days >= asMany) break;
    const newest = sql`day > least(${to}::date, reporting.today()) - ${days}::integer`;
    const rows = await read(db, queryRows({ ...asked, matching: matchingOf(asked, newest) }, page));
    if (rows.length > pageRows) return rows;
  }
  return read(db, queryRows(asked, page));
}

export type RowsSummary = { rows: number; patients: string[] };
