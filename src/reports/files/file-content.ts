import { formatDay } from '../../common/days.ts';
import { formatCount } from '../../common/numbers.ts';
import { formatMoment } from '../../common/times.ts';
import { words } from '../../common/words.ts';
import { type Aliases, isAliasKind } from '../../store/aliases.ts';
import { isSummable } from '../column-kinds.ts';
import type { GroupQuestion } from '../groups.ts';
import { daysOf } from '../groups-table.ts';
import { labelOfColumn } from '../labels.ts';
import type { Asked } from '../queries.ts';
import { titleOf } from '../report.ts';
import type { FileColumn, FileContent } from './formats.ts';

/** What a file is asked for with. */
export interface FileQuestion extends Asked {
  grouped: GroupQuestion;
  /** The filters of the report by their labels, and what was entered. */
  fields: readonly { name: string; label: string }[];
  entered: Readonly<Record<string, string | undefined>>;
}

/** The columns of a report's rows. */
export const columnsOfRows = ({ report, shown }: Asked): FileColumn[] =>
  shown.map((column) => ({
    ...column,
    title: labelOfColumn(report, column.name),
    summed: !report.withoutTotals && isSummable(column),
  }));

/** A name for each selection of rows, without an ending: receipts_personal_2026-03-01_2026-03-31_page-2. */
export function fileNameOf(
  { report, filter, filters, grouped, entered }: FileQuestion,
  revealed: boolean,
): string {
  const { part, page = 1 } = filter;
  const isOfGroups = part === 'groups';
  return [
    report.view,
    isOfGroups && grouped.group && `by-${grouped.group}`,
    isOfGroups && grouped.earlier && `against-${entered.compare!.replaceAll('_', '-')}`,
    filter.patient && 'one-patient',
    revealed && 'personal',
    ...(filters.from ? [filter.from, filter.to] : []),
    part === 'page' && `page-${page}`,
    part === 'changed' && `changed-since-${entered.since!.slice(0, 16).replace('T', '-').replace(':', '')}`,
  ]
    .filter(Boolean)
    .join('_');
}

interface Described {
  columns: readonly FileColumn[];
  comment: string | undefined;
  revealed: boolean;
  rows: number;
  /** What groups are compared by. */
  of?: string;
  aliases: Aliases | undefined;
  currency: string;
  timezone: string;
}

/** What a file is: its columns, and the lines that say which rows it has, as of when, and what its columns mean. */
export function describeFile(question: FileQuestion, described: Described): FileContent {
  const { report, filter, filters, grouped, entered, fields } = question;
  const { columns, comment, revealed, rows, of, aliases, currency, timezone } = described;
  const title = titleOf(report);
  const { from, to, part, since, page = 1 } = filter;
  const days = [from ? formatDay(from) : 'the first', to ? formatDay(to) : 'the last'].join(' to ');
  const nameOf = (name: string, value: string) =>
    isAliasKind(name) && aliases?.[name].has(value) ? `${aliases[name].get(value)} (${value})` : words(value);
  // The days have a line of their own; rows are neither grouped nor compared.
  const ofPage = ['from', 'to', ...(part === 'groups' ? [] : ['group', 'compare'])];
  const chosen = fields.flatMap(({ name, label }) => {
    const value = entered[name];
    return value && !ofPage.includes(name) ? [[label, nameOf(name, value)] as const] : [];
  });
  const { earlier, group } = grouped;
  const parts = {
    page: `page ${page} of the console`,
    changed: since && `changed since ${formatMoment(since, timezone)}`,
    groups: group ? 'each the sum of a group' : 'each a sum of all',
  };
  const about = [
    ['Report', title],
    ['Contents', comment ?? ''],
    ...(filters.from ? [['Days', from || to ? days : 'all'] as const] : []),
    ...chosen,
    ...(of && earlier ? [['Earlier days', daysOf(earlier)] as const] : []),
    ...(of && earlier && group ? [['Compared', labelOfColumn(report, of)] as const] : []),
    ['Rows', [formatCount(rows), part && parts[part]].filter(Boolean).join(', ')],
    ['Personal data', revealed ? 'included' : 'left out'],
    ['Made at', `${formatMoment(new Date(), timezone)}, as all times in ${timezone}`],
    ['Amounts', currency],
  ] as const;
  return { title, columns, aliases, about, currency };
}
