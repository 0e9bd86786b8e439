import { type QueryExecutorProvider as Db, type RawBuilder, sql } from 'kysely';
import type { Family } from '../../callbacks/families/family.ts';
import { daysBetween } from '../../common/days.ts';
import type { AliasKind } from '../../reconcile/aliases.ts';
import type { Report } from './definitions.ts';
import { type Age, ages } from './ranges.ts';
import { allOf, read } from './read.ts';
import { aliasKindOf, isSummable, type ReportColumn } from './report-columns.ts';
import { maxText } from './xlsx.ts';

export const pageRows = 200;
/** More rows are neither counted nor summed, nor sorted by a column. */
export const maxCounted = 100_000;

export type ReportRow = Readonly<Record<string, string | null>>;

export interface ReportFilter {
  /** Days such as 2026-11-22, both included. */
  from?: string | undefined;
  to?: string | undefined;
  business?: string | undefined;
  clinic?: string | undefined;
  doctor?: string | undefined;
  receipt?: string | undefined;
  age?: Age | undefined;
  status?: 'failed' | undefined;
  at?: Date | undefined;
  /** A column; with `-` before it, descending. */
  sort?: string | undefined;
  /** From 1. */
  page?: number | undefined;
}

export interface ReportSource {
  report: Report;
  /** Those that the user may see. */
  columns: readonly ReportColumn[];
  /** Every business, for the indexes that begin with it. */
  businesses: RawBuilder<string[]>;
}

export interface ReportQuery extends ReportSource {
  filter: ReportFilter;
}

/** The filters of a report, by the fields of its form: their columns; undefined: it has none. */
export function filtersOf({ report: { rowsOf, summed }, columns }: ReportSource) {
  const find = (...names: string[]) => names.find((name) => columns.some((column) => column.name === name));
  return {
    from: find('day'),
    to: find('day'),
    at: rowsOf,
    business: find('business_id'),
    clinic: find('clinic_id', 'facility_id'),
    doctor: find('doctor_id'),
    // The view of deliveries has receipt_id too, but no index on it.
    receipt: find('receipt_number') && find('receipt_id'),
    age: find('days_outstanding'),
    status: summed && find('status'),
  };
}

/** Whether a callback has this business, or a record this clinic or doctor. */
export async function isKnown(
  db: Db,
  kind: AliasKind,
  id: string,
  { businesses }: ReportSource,
  families: readonly Family[],
): Promise<boolean> {
  const columns = families.flatMap(({ table, fields }) =>
    Object.keys(fields).flatMap((name) => (aliasKindOf(name) === kind ? [{ table, name }] : [])),
  );
  const places = [
    kind === 'business' ? sql`${id} = any(${businesses})` : sql`false`,
    ...columns.map(
      ({ table, name }) =>
        sql`exists (select from ${sql.table(`public.${table}`)} where ${sql.ref(name)} = ${id})`,
    ),
  ];
  const [known] = await read(db, sql<{ known: boolean }>`select ${sql.join(places, sql` or `)} as known`);
  return known!.known;
}

/** The part of a query that begins with `from`. A filter that the report has no column for does not filter it. */
export function matching(query: ReportQuery, newest?: RawBuilder<unknown>): RawBuilder<unknown> {
  const { report, filter, businesses } = query;
  const { view, rowsOf } = report;
  // Nothing can have been applied after a moment in the future.
  const isNow = filter.at === undefined || filter.at.getTime() > Date.now();
  const source =
    rowsOf === undefined || isNow
      ? sql.table(`reporting.${rowsOf ?? view}`)
      : sql`${sql.table(`reporting.${view}`)}(${filter.at}::timestamptz)`;
  const filters = filtersOf(query);
  const { from, to, age, status } = filter;
  const ids = (['business', 'clinic', 'doctor', 'receipt'] as const).map((name) => {
    const [column, value] = [filters[name], filter[name]];
    return column && value && sql`${sql.ref(column)} = ${value}`;
  });
  const conditions = allOf([
    sql`true`,
    ...ids,
    filters.from && from && sql`day >= ${from}::date`,
    filters.to && to && sql`day <= ${to}::date`,
    filters.age && age && isOfAge(age),
    filters.status && status && sql`reporting.is_failed(status)`,
    report.leadsWithBusiness &&
      !(filters.business && filter.business) &&
      sql`business_id = any(${businesses})`,
    newest,
  ]);
  return sql`from ${source} where ${conditions}`;
}

/** By the day, because that has an index. */
function isOfAge(age: Age): RawBuilder<boolean> {
  const [min, max] = ages[age];
  return sql<boolean>`(day between coalesce(reporting.today() - ${max}::int, '-infinity')
    and coalesce(reporting.today() - ${min}::int, 'infinity'))`;
}

/** Cuts a text as Excel does: a field may have a hundred thousand characters, and a page or a batch has hundreds of rows. */
const shortOf = (name: RawBuilder<unknown>, type: string) =>
  type === 'text' || type === 'jsonb'
    ? sql`case when length(${name}::text) > ${maxText} then left(${name}::text, ${maxText - 1}) || '…' else ${name}::text end`
    : sql`${name}::text`;

/** Every value is cast to text; `is_summed` where totals leave some rows out. @param page from 1, with the first row of the next one; without it, all rows */
export function queryRows(query: ReportQuery, page?: number, newest?: RawBuilder<unknown>) {
  const { report, columns, filter } = query;
  const isSummed = report.summed ? [sql`${sql.raw(report.summed.where)} as is_summed`] : [];
  const names = [...columns.map(({ name }) => sql.ref(name)), ...isSummed];
  const texts = columns.map(({ name, type }) => sql`${shortOf(sql.ref(name), type)} as ${sql.ref(name)}`);
  if (report.summed) texts.push(sql`is_summed::text`);
  const { sort } = filter;
  const direction = sort?.startsWith('-') ? sql`desc` : sql`asc`;
  const sorted = sort ? sql`${sql.ref(sort.replace('-', ''))} ${direction} nulls last,` : sql``;
  return sql<ReportRow>`select ${sql.join(texts)} from (
    select ${sql.join(names)} ${matching(query, newest)} order by ${sorted} ${sql.raw(report.order)}
    ${page ? sql`limit ${pageRows + 1} offset ${(page - 1) * pageRows}` : sql``}) as rows`;
}

const windows = [1, 3, 9, 27, 81, 243, 729];

/**
 * Reads a page of a report, and the first row of the next one: of ever more of the newest days, where these come first, as far as
 * they are fewer than the days of the filter.
 */
export async function readPage(db: Db, query: ReportQuery, page: number): Promise<ReportRow[]> {
  const { report, filter } = query;
  const { from, to } = filter;
  const allDays = from && to ? daysBetween(from, to) + 1 : Number.POSITIVE_INFINITY;
  for (const days of report.newestDayFirst && !filter.sort && !filter.receipt ? windows : []) {
    if (days >= allDays) break;
    const newest = sql`day > least(${to}::date, reporting.today()) - ${days}::integer`;
    const rows = await read(db, queryRows(query, page, newest));
    if (rows.length > pageRows) return rows;
  }
  return read(db, queryRows(query, page));
}

export interface Totals {
  /** At most one more than `maxCounted`: then there are no sums. */
  rows: number;
  /** Rows that are in no sum. */
  others: number;
  sums: ReportRow;
}

export async function readTotals(db: Db, query: ReportQuery): Promise<Totals> {
  const summed = query.report.withoutTotals ? [] : query.columns.filter(isSummable).map(({ name }) => name);
  const isSummed = sql`${sql.raw(query.report.summed?.where ?? 'true')} as is_summed`;
  const names = sql.join([...summed.map((name) => sql.ref(name)), isSummed]);
  const sums = summed.map(
    (name) => sql`${sql.lit(name)}, (sum(${sql.ref(name)}) filter (where is_summed))::text`,
  );
  const [totals] = await read(
    db,
    sql<Totals>`
      select count(*)::integer as rows, (count(*) filter (where not is_summed))::integer as others, json_build_object(${sql.join(sums)}) as sums
      from (select ${names} ${matching(query)} limit ${maxCounted + 1}) counted`,
  );
  return totals!.rows > maxCounted ? { ...totals!, sums: {} } : totals!;
}

export interface AgeSum {
  age: Age;
  receipts: number;
  due: string;
}

export async function readAges(db: Db, query: ReportQuery): Promise<AgeSum[]> {
  const names = Object.keys(ages) as Age[];
  const cases = names.map((age) => sql`when ${isOfAge(age)} then ${age}`);
  const sums = await read(
    db,
    sql<AgeSum>`
      select case ${sql.join(cases, sql` `)} end as age, count(*)::int as receipts, sum(due_amount)::text as due
      ${matching({ ...query, filter: { ...query.filter, age: undefined } })} group by 1`,
  );
  return names.map((age) => sums.find((sum) => sum.age === age) ?? { age, receipts: 0, due: '0' });
}

export interface RowsSummary {
  rows: number;
  patients: string[];
}

/** No patients are listed if there are too many rows for a download. @param source begins with `from` */
export function summaryOf(columns: readonly ReportColumn[], source: RawBuilder<unknown>, maxRows = pageRows) {
  const plain = (column: string) => sql`lower(replace(trim(${sql.ref(column)}), '-', ''))`;
  const subjects: Record<string, RawBuilder<unknown>> = {
    patient_id: sql`'p:platform:' || trim(patient_id)`,
    // A page may have the beginning of a long one.
    patient_ids: sql`'p:platform:' || jsonb_array_elements_text(
      case when right(patient_ids::text, 1) = ']' then patient_ids::text else '[]' end::jsonb)`,
    partner_patient_id: sql`'p:partner:' || business_id || ':' || trim(partner_patient_id)`,
    abha_address: sql`'p:abha:' || ${plain('abha_address')}`,
    abha_number: sql`'p:abha:' || ${plain('abha_number')}`,
    delivery_id: sql`unnest(array(
      select s from receiver.inbox, unnest(subjects) s where id = delivery_id::uuid and s like 'p:%'))`,
  };
  const queries = columns.flatMap(({ name }) =>
    subjects[name] ? [sql`select ${subjects[name]} as s ${source}`] : [],
  );
  const all = queries.length > 0 ? sql.join(queries, sql` union `) : sql`select null as s`;
  return sql<RowsSummary>`
    select count(*)::int as rows, case when count(*) <= ${maxRows} then
      array(select s from (${all}) as named where s is not null) end as patients ${source}`;
}

export async function summarize(db: Db, columns: readonly ReportColumn[], rows: readonly ReportRow[]) {
  const names = sql.join(columns.map(({ name }) => sql`${sql.ref(name)} text`));
  const source = sql`from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as shown(${names}) where true`;
  const [summary] = await read(db, summaryOf(columns, source));
  return summary!;
}
