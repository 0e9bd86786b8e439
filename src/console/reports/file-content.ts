import type { Asked } from '../../reports/queries.ts';
import { titleOf } from '../../reports/report.ts';
import type { Visit } from '../ui/context.ts';
import { titled, words } from '../ui/links.ts';
import { formatDay, formatMoment } from '../ui/time.ts';
import { formatCount } from '../ui/values.tsx';
import type { ReportForm } from './form.ts';
import type { FileContent } from './formats.ts';

type AskedForm = Asked & Pick<ReportForm, 'entered' | 'fields'>;

/** A name for each selection of rows, without an ending: receipts_personal_2026-03-01_2026-03-31_page-2. */
export function fileNameOf({ report, filter, filters, entered }: AskedForm, revealed: boolean): string {
  const { part, page = 1 } = filter;
  return [
    report.view,
    revealed && 'personal',
    ...(filters.from ? [filter.from, filter.to] : []),
    part === 'page' && `page-${page}`,
    part === 'changed' && `changed-since-${entered.since!.slice(0, 16).replace('T', '-').replace(':', '')}`,
  ]
    .filter(Boolean)
    .join('_');
}

// The days have a line of their own; a file is neither grouped nor compared.
const ofPage = ['from', 'to', 'group', 'compare'];

interface Described {
  comment: string | undefined;
  revealed: boolean;
  rows: number;
}

/** What a file is: its columns, and the lines that say which rows it has, as of when, and what its columns mean. */
export function describeFile(
  { report, shown, filter, filters, entered, fields }: AskedForm,
  { comment, revealed, rows }: Described,
  { aliases, currency, timezone }: Pick<Visit, 'aliases' | 'currency' | 'timezone'>,
): FileContent {
  const title = titleOf(report);
  const { from, to, part, since, page = 1 } = filter;
  const days = [from ? formatDay(from) : 'the first', to ? formatDay(to) : 'the last'].join(' to ');
  const nameOf = (name: string, value: string) =>
    (name === 'business' || name === 'clinic' || name === 'doctor') && aliases?.[name].has(value)
      ? `${aliases[name].get(value)} (${value})`
      : words(value);
  const chosen = fields.flatMap(({ name, label }) => {
    const value = entered[name];
    return value && !ofPage.includes(name) ? [[label, nameOf(name, value)] as const] : [];
  });
  const parts = {
    page: `page ${page} of the console`,
    changed: since && `changed since ${formatMoment(since, timezone)}`,
  };
  const about = [
    ['Report', title],
    ['Contents', comment ?? ''],
    ...(filters.from ? [['Days', from || to ? days : 'all'] as const] : []),
    ...chosen,
    ['Rows', [formatCount(rows), part && parts[part]].filter(Boolean).join(', ')],
    ['Personal data', revealed ? 'included' : 'left out'],
    ['Made at', `${formatMoment(new Date(), timezone)}, as all times in ${timezone}`],
    ['Amounts', currency],
    ['', ''],
    ...shown.map(({ name, comment }) => [titled(name), comment ?? ''] as const),
  ] as const;
  return { title, columns: shown, aliases, about, withoutTotals: report.withoutTotals ?? false, currency };
}
