import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Family, publicColumns } from '../../families/index.ts';
import type { Tables } from '../../store/tables.ts';
import { isPublicField } from '../redact.ts';
import { businesses } from '../store.ts';
import type { Report, ReportChart } from './reports.ts';

export interface ReportColumn {
  name: string;
  type: string;
  /** The database's comment on it. */
  comment: string | null;
  /** Whether it may hold personal data. */
  personal: boolean;
}

/** Which rows of a report; the days `from` and `to` are both included. */
export interface ReportFilter {
  from: string;
  to: string;
  business?: string | undefined;
  clinic?: string | undefined;
}

// Of the views alone: columns that are no field of a family by this name, and cannot identify a patient.
const publicViewColumns = new Set([
  ...['form_id', 'family', 'event', 'status', 'error', 'reason', 'field', 'kind', 'value'],
]);

/** Whether a column may hold personal data: every text does unless it is marked. */
export const isPersonal = (families: readonly Family[], name: string, type: string) =>
  type === 'text' &&
  !publicViewColumns.has(name) &&
  !publicColumns.has(name) &&
  !isPublicField(families, name);

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

/** The query for the rows of a report, every value cast to text. */
export function rowsOf(
  report: Report,
  columns: readonly ReportColumn[],
  filter: ReportFilter,
  limit?: number,
) {
  const values = columns.map(({ name }) => sql`${sql.ref(name)}::text`);
  const rows = sql`select ${sql.join(columns.map(({ name }) => sql.ref(name)))} ${fromView(report, filter)}`;
  const ordered = sql`${rows} order by ${sql.raw(report.order)} ${limit === undefined ? sql`` : sql`limit ${limit}`}`;
  return sql<Record<string, string | null>>`select ${sql.join(
    values.map((value, index) => sql`${value} as ${sql.ref(columns[index]!.name)}`),
  )} from (${ordered}) as rows`;
}

export interface ChartFigures {
  labels: string[];
  series: { name: string; values: (string | null)[] }[];
}

/** The figures of a report's chart. */
export async function readChart(
  db: Kysely<Tables>,
  report: Report,
  chart: ReportChart,
  filter: ReportFilter,
): Promise<ChartFigures> {
  const names = Object.keys(chart.series);
  const figures = names.map((name) => sql`(${sql.raw(chart.series[name]!)})::text as ${sql.ref(name)}`);
  const order = chart.largest
    ? sql`order by ${sql.raw(Object.values(chart.series)[0]!)} desc nulls last limit ${chart.largest}`
    : sql`order by 1`;
  const { rows } = await sql<Record<string, string | null>>`
    select ${sql.raw(chart.by)} as label, ${sql.join(figures)} ${fromView(report, filter)}
    group by 1 ${order}`.execute(db);
  return {
    labels: rows.map(({ label }) => label ?? ''),
    series: names.map((name) => ({ name, values: rows.map((row) => row[name] ?? null) })),
  };
}

/** Without a business, the condition lists all of them: the indexes begin with it. */
function fromView({ view, dated, business, clinic }: Report, filter: ReportFilter): RawBuilder<unknown> {
  const conditions = [
    ...(dated ? [sql`day >= ${filter.from}::date and day <= ${filter.to}::date`] : []),
    ...(business && filter.business ? [sql`business_id = ${filter.business}`] : []),
    ...(clinic && filter.clinic ? [sql`clinic_id = ${filter.clinic}`] : []),
    ...(leadsWithBusiness.has(view) && !filter.business ? [sql`business_id = any(array${businesses})`] : []),
  ];
  const where = conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``;
  return sql`from ${sql.table(`reporting.${view}`)} ${where}`;
}

const leadsWithBusiness = new Set([
  'receipts_daily',
  'outstanding_receipts',
  'receipts',
  'deleted_receipts',
  'all_receipts',
]);
