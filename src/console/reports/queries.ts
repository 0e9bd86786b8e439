import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Family, publicColumns } from '../../families/index.ts';
import type { Tables } from '../../store/tables.ts';
import { isPublicField } from '../redact.ts';
import { businesses } from '../store.ts';
import type { ChartFigures } from '../ui/chart.tsx';
import type { ReportFilter } from './form.ts';
import type { Report, ReportChart } from './reports.ts';

export interface ReportColumn {
  name: string;
  type: string;
  /** The database's comment on it. */
  comment: string | null;
  /** Whether it may hold personal data. */
  personal: boolean;
}

// Of the views alone: columns that are no field of a family by this name, and cannot identify a patient.
const publicViewColumns = new Set([
  ...['form_id', 'family', 'event', 'status', 'error', 'reason', 'field', 'kind', 'value', 'state'],
  ...['actor_id', 'facility_id', 'event_id', 'estimate_id', 'clearance_id', 'open_clearance_types'],
]);

// As format_type writes them. Others, such as jsonb, may contain anything.
const publicTypes = new Set([
  ...['boolean', 'integer', 'bigint', 'numeric', 'date', 'timestamp with time zone', 'interval', 'uuid'],
]);

/** Whether a column may hold personal data: every text does unless it is marked, and every nested value does. */
export const isPersonal = (families: readonly Family[], name: string, type: string) =>
  !publicTypes.has(type) &&
  !(
    type === 'text' &&
    (publicViewColumns.has(name) || publicColumns.has(name) || isPublicField(families, name))
  );

/** The columns of a report in their order. */
export async function readColumns(
  db: Kysely<Tables>,
  { view }: Report,
  families: readonly Family[],
): Promise<ReportColumn[]> {
  const { rows } = await sql<Omit<ReportColumn, 'personal'>>`
    select attname as name, format_type(atttypid, null) as type, col_description(attrelid, attnum) as comment
    from pg_attribute
    where attrelid = ${`reporting.${view}`}::regclass and attnum > 0 and not attisdropped
    order by attnum`.execute(db);
  return rows.map((column) => ({ ...column, personal: isPersonal(families, column.name, column.type) }));
}

/** A report can be filtered by the day, the business and the clinic, where it has these columns. */
export function filtersOf(columns: readonly ReportColumn[]) {
  const has = (name: string) => columns.some((column) => column.name === name);
  return { days: has('day'), business: has('business_id'), clinic: has('clinic_id') };
}

/** The rows of a report that match a filter, as the part of a query that begins with `from`. */
export function fromView(report: Report, columns: readonly ReportColumn[], filter: ReportFilter) {
  const { from, to, business, clinic } = filter;
  const filters = filtersOf(columns);
  const conditions = [
    filters.days && sql`day >= ${from}::date and day <= ${to}::date`,
    filters.business && business && sql`business_id = ${business}`,
    filters.clinic && clinic && sql`clinic_id = ${clinic}`,
    report.leadsWithBusiness && !business && sql`business_id = any(array${businesses})`,
  ].filter((condition) => typeof condition === 'object');
  return sql`from ${sql.table(`reporting.${report.view}`)}
    where ${sql.join([sql`true`, ...conditions], sql` and `)}`;
}

/**
 * The query for the rows of a report, every value cast to text.
 *
 * @param rows see `fromView`
 */
export function queryRows(
  { order }: Report,
  columns: readonly ReportColumn[],
  rows: RawBuilder<unknown>,
  limit?: number,
) {
  const names = columns.map(({ name }) => sql.ref(name));
  const texts = names.map((name) => sql`${name}::text as ${name}`);
  return sql<Record<string, string | null>>`select ${sql.join(texts)} from (
    select ${sql.join(names)} ${rows}
    order by ${sql.raw(order)} ${limit === undefined ? sql`` : sql`limit ${limit}`}) as rows`;
}

export interface RowsSummary {
  rows: number;
  /** Whose rows they are, if that is shown. */
  patients: string[];
}

/**
 * The query for how many rows there are, and whose.
 *
 * @param shown the columns that are shown
 * @param rows see `fromView`
 */
export function querySummary(shown: readonly ReportColumn[], rows: RawBuilder<unknown>) {
  const patients = shown.some(({ name }) => name === 'patient_id')
    ? sql`coalesce(array_agg(distinct patient_id) filter (where patient_id <> ''), '{}')`
    : sql`'{}'::text[]`;
  return sql<RowsSummary>`select count(*)::int as rows, ${patients} as patients ${rows}`;
}

/**
 * The figures of a report's chart.
 *
 * @param rows see `fromView`
 */
export async function readChart(
  db: Kysely<Tables>,
  { by = 'day::text', series = { count: 'count(*)' }, largest }: ReportChart,
  rows: RawBuilder<unknown>,
): Promise<ChartFigures> {
  const names = Object.keys(series);
  const figures = names.map((name) => sql`(${sql.raw(series[name]!)})::text as ${sql.ref(name)}`);
  const order = largest
    ? sql`order by ${sql.raw(Object.values(series)[0]!)} desc nulls last limit ${largest}`
    : sql`order by 1`;
  const { rows: groups } = await sql<Record<string, string | null>>`
    select ${sql.raw(by)} as label, ${sql.join(figures)} ${rows} group by 1 ${order}`.execute(db);
  return {
    labels: groups.map(({ label }) => label ?? ''),
    series: names.map((name) => ({ name, values: groups.map((group) => group[name] ?? null) })),
  };
}
