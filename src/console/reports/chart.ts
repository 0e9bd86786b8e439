import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../../store/tables.ts';
import type { ChartFigures } from '../ui/chart.tsx';
import { formatDay } from '../ui/time.ts';
import type { ReportFilter } from './form.ts';
import type { ReportChart } from './reports.ts';

// More bars cannot be told apart.
const mostDays = 92;
const mostMonths = 120;
const dayMs = 86_400_000;

/**
 * The figures of a report's chart. Days and months without rows have zeros.
 *
 * @param rows see `fromView`
 * @returns with `unit`: the groups are days or months
 */
export async function readChart(
  db: Kysely<Tables>,
  { by, series = { count: 'count(*)' }, largest }: ReportChart,
  rows: RawBuilder<unknown>,
  { from, to }: ReportFilter,
): Promise<ChartFigures & { unit: 'day' | 'month' | undefined }> {
  const days = from && to ? (Date.parse(to) - Date.parse(from)) / dayMs : Number.POSITIVE_INFINITY;
  const unit = by ? undefined : days < mostDays ? 'day' : 'month';
  const group = by ?? (unit === 'day' ? 'day::text' : `to_char(day, 'YYYY-MM')`);
  const names = Object.keys(series);
  const figures = names.map((name) => sql`(${sql.raw(series[name]!)})::text as ${sql.ref(name)}`);
  const order = largest
    ? sql`order by ${sql.raw(Object.values(series)[0]!)} desc nulls last limit ${largest}`
    : sql`order by 1`;
  const { rows: groups } = await sql<Record<string, string | null>>`
    select ${sql.raw(group)} as label, ${sql.join(figures)} ${rows} group by 1 ${order}`.execute(db);
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
