import { formatDay } from '../../../common/days.ts';
import { formatMoment } from '../../../common/local-times.ts';
import { formatCount, words } from '../../../common/words.ts';
import { type Aliases, isAliasKind } from '../../../reconcile/aliases.ts';
import { isSummable } from '../column-kinds.ts';
import { labelOfColumn } from '../column-labels.ts';
import type { Asked } from '../queries.ts';
import { titleOf } from '../report.ts';
import type { FileColumn, FileContent } from './formats.ts';

/** What a file is asked for with. */
export interface FileQuestion extends Asked {
  /** The filters of the report by their labels, and what was entered. */
  fields: readonly { name: string; label: string }[];
  entered: Readonly<Record<string, string | undefined>>;
}

/** The columns of a report's rows. */
const columnsOf = ({ report, columns }: Asked): FileColumn[] =>
  columns.map((column) => ({
    ...column,
    title: labelOfColumn(report, column.name),
    summed: !report.withoutTotals && isSummable(column),
  }));

/** A name for each selection of days, without an ending: receipts_personal_2026-03-01_2026-03-31. */
export const fileNameOf = ({ report, filter, filters }: Asked, revealed: boolean): string =>
  [report.view, revealed && 'personal', ...(filters.from ? [filter.from, filter.to] : [])]
    .filter(Boolean)
    .join('_');

interface Described {
  comment: string | undefined;
  revealed: boolean;
  rows: number;
  aliases: Aliases | undefined;
  timezone: string;
}

/** What a file is: its columns, and the lines that say which rows it has, as of when, and what its columns mean. */
export function describeFile(question: FileQuestion, described: Described): FileContent {
  const { report, filter, filters, entered, fields } = question;
  const { comment, revealed, rows, aliases, timezone } = described;
  const title = titleOf(report);
  const { from, to } = filter;
  const days = [from ? formatDay(from) : 'the first', to ? formatDay(to) : 'the last'].join(' to ');
  const nameOf = (name: string, value: string) =>
    isAliasKind(name) && aliases?.[name].has(value) ? `${aliases[name].get(value)} (${value})` : words(value);
  // The days have a line of their own.
  const chosen = fields.flatMap(({ name, label }) => {
    const value = entered[name];
    return value && !['from', 'to'].includes(name) ? [[label, nameOf(name, value)] as const] : [];
  });
  const about = [
    ['Report', title],
    ['Contents', comment ?? ''],
    ...(filters.from ? [['Days', from || to ? days : 'all'] as const] : []),
    ...chosen,
    ['Rows', formatCount(rows)],
    ['Personal data', revealed ? 'included' : 'left out'],
    ['Made at', `${formatMoment(new Date(), timezone)}, as all times in ${timezone}`],
    ['Amounts', 'INR'],
  ] as const;
  return { title, columns: columnsOf(question), aliases, about };
}
