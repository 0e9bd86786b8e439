import { addDays, firstOfMonth, formatDay, monthEnd } from '../common/days.ts';
import { type Aliases, isAliasKind } from '../store/aliases.ts';
import type { FileColumn } from './files/formats.ts';
import type { Group, Grouping, GroupQuestion, Groups } from './groups.ts';
import { labelOfColumn } from './labels.ts';
import type { Period } from './periods.ts';
import type { Asked, ReportRow } from './queries.ts';

/** A column of sums, or of their change; what it is sorted by. */
type GroupColumn = FileColumn & { sort: string };

export interface GroupRow {
  label: string | null;
  /** What is compared in it. */
  measure: string;
  /** The type of its values, where that of the column is not. */
  type: string | undefined;
  values: ReportRow;
  change: number;
}

export type GroupTable = ReturnType<typeof tableOf>;

/**
 * The table of groups, for a page and for a file: a column with their labels, and those of the sums or of the comparison. Without
 * groups, it has a row for each sum.
 */
export function tableOf(asked: Asked, { group, earlier }: GroupQuestion, found: Groups) {
  const { report, shown, filter } = asked;
  const { measures, of } = found;
  const typeOf = (name: string) => shown.find((column) => column.name === name)?.type ?? 'bigint';
  const named = (part: string) => (group ? [of, part].filter(Boolean).join('_') : part || 'now');
  const type = group ? typeOf(of) : 'double precision';
  const columns: GroupColumn[] = earlier
    ? [
        { name: named(''), title: daysOf(filter), type, sort: of, summed: group !== undefined },
        { name: named('before'), title: daysOf(earlier), type, sort: 'before', summed: group !== undefined },
        { name: named('change'), title: 'Change', type, sort: 'change', summed: group !== undefined },
        { name: named('change_share'), title: 'Change in %', type: 'numeric', sort: 'change_share' },
      ]
    : measures.map((name) => ({
        name,
        title: labelOfColumn(report, name),
        type: typeOf(name),
        sort: name,
        summed: true,
      }));
  const row = (measure: string, { label, now, before, change, change_share }: Group): GroupRow => {
    const compared = {
      [named('')]: now[measure] ?? null,
      [named('before')]: before[measure] ?? null,
      [named('change')]: change[measure] ?? null,
      [named('change_share')]: change_share[measure] ?? null,
    };
    return {
      label,
      measure,
      type: group ? undefined : typeOf(measure),
      values: earlier ? compared : now,
      change: Number(change[measure]),
    };
  };
  const name = isAliasKind(group) ? `${group}_id` : (group ?? 'sum');
  const isDay = group === 'day' || group === 'week';
  const lead: FileColumn = { name, title: labelOfColumn(report, name), type: isDay ? 'date' : 'text' };
  return {
    lead,
    columns,
    rows: group
      ? found.groups.map((one) => row(of, one))
      : measures.map((name) => row(name, { ...found.total, label: labelOfColumn(report, name) })),
    total: group && row(of, found.total),
  };
}

export const daysOf = ({ from = '', to = '' }: { [Name in keyof Period]?: string | undefined }) =>
  from === to ? formatDay(from) : `${formatDay(from)} to ${formatDay(to)}`;

export function nameOfGroup(group: Grouping | undefined, label: string | null, aliases?: Aliases): string {
  if (label === null) return 'none';
  if (isAliasKind(group)) return aliases?.[group].get(label) ?? label;
  return group === 'week' ? `Week of ${formatDay(label)}` : formatDay(label);
}

/** The filter that has the rows of a group alone. */
export function rowsOfGroup(group: Grouping, label: string): Record<string, string> {
  if (isAliasKind(group)) return { [group]: label };
  const from = group === 'month' ? firstOfMonth(label) : label;
  const to = group === 'month' ? monthEnd(from) : group === 'week' ? addDays(label, 6) : label;
  return { range: '', from, to };
}
