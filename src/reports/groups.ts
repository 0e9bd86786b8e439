import { type RawBuilder, sql } from 'kysely';
import { monthOf } from '../common/days.ts';
import { read } from '../store/read.ts';
import type { Db } from '../store/tables.ts';
import { isSummable } from './column-kinds.ts';
import type { filtersOf } from './columns.ts';
import { layOut } from './layout.ts';
import type { EarlierPeriod } from './periods.ts';
import { type Asked, during, fromSums, type ReportRow } from './queries.ts';
import { countedRows } from './totals.ts';

export const groupings = ['day', 'week', 'month', 'clinic', 'doctor', 'business'] as const;
export type Grouping = (typeof groupings)[number];

/** What the rows of a report can be grouped by. */
export const groupingsOf = (
  filters: Pick<ReturnType<typeof filtersOf>, 'from' | 'clinic' | 'doctor' | 'business'>,
) =>
  groupings.filter((name) =>
    name === 'day' || name === 'week' || name === 'month' ? filters.from : filters[name],
  );

export interface GroupQuestion {
  /** Without it, all rows are one group. */
  group: Grouping | undefined;
  /** What the period is compared with. */
  earlier: EarlierPeriod | undefined;
  /** The column whose change is shown; default: the first amount. */
  of: string | undefined;
  /** A measure, `before`, `change`, `change_share` or `label`; with `-` before it, descending. */
  sort: string | undefined;
}

export interface Group {
  /** A day, the first day of a week, a month such as 2026-11, an id, or null: none. */
  label: string | null;
  /** The sums, by the names of columns; `rows`: how many there are. */
  now: ReportRow;
  before: ReportRow;
  change: ReportRow;
  /** Null: there was nothing before. */
  change_share: ReportRow;
}

export interface Groups {
  /** What is summed, in the order of the report. */
  measures: readonly string[];
  /** The measure that the change is of. */
  of: string;
  groups: readonly Group[];
  /** How many there are; `groups` are the first of them. */
  count: number;
  total: Group;
  /** Whether rows were left out: there are more than are counted, and no sums of them are kept. */
  isCut: boolean;
}

/** A page has these; a file has more. */
export const mostGroups = 200;
export const mostGroupsOfFile = 20_000;

/** Sums a report's rows by group, of its days and of earlier ones; a group that has rows in one of these periods has zeros in the other. */
export async function readGroups(
  db: Db,
  asked: Asked,
  question: GroupQuestion,
  most = mostGroups,
): Promise<Groups> {
  const { group, earlier } = question;
  const now = sourceOf(asked, group);
  const { measures } = now;
  const parts = [now.rows(0)];
  if (earlier) parts.push(sourceOf(during(asked, earlier), group, earlier).rows(1));
  const of = measures.find((name) => name === question.of) ?? measures[0]!;
  const sums = measures.flatMap((name) => [
    sql`coalesce(sum(${sql.ref(name)}) filter (where period = 0), 0) as ${sql.ref(name)}`,
    sql`coalesce(sum(${sql.ref(name)}) filter (where period = 1), 0) as ${sql.ref(`before ${name}`)}`,
  ]);
  const texts = (textOf: (name: string) => RawBuilder<unknown>) =>
    sql`json_build_object(${sql.join(measures.map((name) => sql`${sql.lit(name)}, ${textOf(name)}::text`))})`;
  const before = (name: string) => sql.ref(`before ${name}`);
  const change = (name: string) => sql`(${sql.ref(name)} - ${before(name)})`;
  const share = (name: string) => sql`round(${change(name)} / nullif(abs(${before(name)}), 0), 4)`;
  const query = sql<Group & { isTotal: boolean; count: number; read: number }>`
    with periods as (${sql.join(parts, sql` union all `)}), sums as (
      select label, grouping(label) = 1 as "isTotal", ${sql.join(sums)}, coalesce(max(read), 0)::int as read
      from periods group by grouping sets ((label), ())
    )
    select label::text as label, "isTotal", ${texts((name) => sql.ref(name))} as now, ${texts(before)} as before,
      ${texts(change)} as change, ${texts(share)} as change_share, (count(*) over () - 1)::int as count, read
    from sums
    order by "isTotal" desc, ${orderOf(question, measures, { of: sql.ref(of), before: before(of), change: change(of), share: share(of) })} sums.label
    limit ${most + 1}`;
  const [total, ...found] = await read(db, query);
  const groups =
    group === 'month' ? found.map((one) => ({ ...one, label: one.label && monthOf(one.label) })) : found;
  const isCut = Math.max(...[total!, ...groups].map((one) => one.read)) > countedRows(asked.report);
  return { measures, of, groups, count: total!.count, total: total!, isCut };
}

const isTime = (group: Grouping | undefined) => group === 'day' || group === 'week' || group === 'month';

/** The rows of one period, each with its label and measures: kept sums, or else the report's own rows. */
function sourceOf(asked: Asked, group: Grouping | undefined, moved?: EarlierPeriod) {
  const { report, shown, filters } = asked;
  const names = report.withoutTotals
    ? []
    : layOut(report, shown, false)
        .filter(isSummable)
        .map(({ name }) => name);
  const summed = fromSums(asked, {
    byDoctor: group === 'clinic' || group === 'doctor',
    byBusiness: group === 'business',
    byDay: group === 'day' || group === 'week' || Boolean(moved?.days && isTime(group)),
  });
  const day = moved
    ? sql`(day + make_interval(months => ${moved.months}::int, days => ${moved.days}::int))::date`
    : sql`day`;
  const labels: Record<Grouping, () => RawBuilder<unknown>> = {
    day: () => day,
    week: () => sql`date_trunc('week', ${day}::timestamp)::date`,
    month: () => sql`month_of(${day})`,
    clinic: () => sql.ref(summed ? 'clinic_id' : filters.clinic!),
    doctor: () => sql.ref(summed ? 'doctor_id' : filters.doctor!),
    business: () => sql.ref(summed ? 'business_id' : filters.business!),
  };
  const named = group && labels[group]();
  const label = !named ? sql`null::text` : isTime(group) ? named : sql`nullif(${named}, '')`;
  const kept = report.summed?.columns ?? [];
  const measures = summed
    ? [...names.filter((name) => kept.includes(name)), ...kept.filter((name) => name === 'rows')]
    : [...names, 'rows'];
  const limit = sql`limit ${countedRows(report) + 1}`;
  const rows = (period: number) => {
    const values = sql.join(
      measures.map((name) => (name === 'rows' && !summed ? sql`1 as rows` : sql.ref(name))),
    );
    const from = summed ?? asked.matching;
    return sql`(select ${sql.lit(period)} as period, label, ${sql.join(measures.map((name) => sql.ref(name)))}, ${
      summed ? sql`0::bigint` : sql`count(*) over ()`
    } as read from (select ${label} as label, ${values} ${from} ${summed ? sql`` : limit}) found)`;
  };
  return { measures, rows };
}

type Expression = RawBuilder<unknown>;

/** Names have the largest first, times the first. */
function orderOf(
  { group, earlier, sort }: GroupQuestion,
  measures: readonly string[],
  { of, before, change, share }: Record<'of' | 'before' | 'change' | 'share', Expression>,
) {
  const name = sort?.replace('-', '') ?? '';
  const known: Record<string, Expression> = {
    ...Object.fromEntries(measures.map((measure) => [measure, sql.ref(measure)])),
    label: sql`sums.label`,
    ...(earlier && { before, change, change_share: share }),
  };
  const direction = sort?.startsWith('-') ? sql`desc` : sql`asc`;
  if (Object.hasOwn(known, name)) return sql`${known[name]} ${direction} nulls last,`;
  return isTime(group) ? sql`` : sql`${of} desc,`;
}
