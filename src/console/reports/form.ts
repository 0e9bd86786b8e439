import { z } from 'zod';
import { ages, ranges } from '../../reports/ranges.ts';
import type { Report } from '../../reports/report.ts';
import { choice, localTime, oneOf, readForm, receiptId, text } from '../read-form.ts';
import { hrefTo } from '../ui/links.ts';
import { formatLocal, parseLocal } from '../ui/time.ts';
/** The database reads the rows of the pages before, too. */
export const mostPages = 50;

const keysOf = <Key extends string>(record: Record<Key, unknown>) => Object.keys(record) as Key[];

/**
 * Reads which rows of a report are asked for, and in which order. `from` and `to` are both included, and take
 * precedence over a range; a receipt is looked for in all days.
 *
 * @param sortable the names of the columns that are shown
 * @returns with `range`, unless other days are asked for; `isWide`: whether all columns are shown; `entered`: the fields of its address, and the `shape` of those
 * @throws BadInput
 */
export function readReportForm(
  form: Record<string, unknown>,
  report: Report,
  sortable: readonly string[],
  timezone: string,
) {
  const oneDay = z.iso.date('Enter a day such as 2026-11-21.');
  const shape = {
    from: oneDay.meta({ label: 'From', kind: 'date' }),
    to: oneDay.meta({ label: 'To', kind: 'date' }),
    range: oneOf(keysOf(ranges)),
    business: text.meta({ label: 'Business', kind: 'business' }),
    clinic: text.meta({ label: 'Clinic', kind: 'clinic' }),
    doctor: text.meta({ label: 'Doctor', kind: 'doctor' }),
    receipt: receiptId.meta({ label: 'Receipt id' }),
    age: choice('Age in days', keysOf(ages)),
    at: localTime(timezone, 'As of'),
    part: oneOf(['changed', 'page']),
    since: localTime(timezone),
    sort: z.string().refine((by) => sortable.includes(by.replace('-', '')), 'Unknown column.'),
    columns: oneOf(['all']),
    page: z.coerce
      .number('Unknown page.')
      .int()
      .min(1)
      .max(mostPages, `There are ${mostPages} pages at most.`),
  };
  const { data, entered, faults } = readForm(form, shape);
  const usual = report.range ?? 'last_30_days';
  const range =
    data.from || data.to
      ? undefined
      : (data.range ?? (data.receipt || data.part === 'changed' ? 'all' : usual));
  const today = formatLocal(Date.now(), timezone).slice(0, 10);
  const [year, month, date] = today.split('-').map(Number) as [number, number, number];
  const [first, last]: readonly [string?, string?] = ranges[range ?? usual](year, month - 1, date);
  const { from = data.to ? undefined : first, to = last } = data;
  // The end of this minute; in the address, so that it says the same tomorrow.
  if (report.rowsOf) entered.at ??= formatLocal(Date.now() + 60_000, timezone).slice(0, 16);
  const at = entered.at === undefined ? undefined : parseLocal(entered.at, timezone);
  const { range: _, columns, ...others } = data;
  const since = data.part === 'changed' ? data.since : undefined;
  return { filter: { ...others, from, to, at, since }, isWide: columns === 'all', range, entered, faults, shape };
}

export type ReportForm = ReturnType<typeof readReportForm>;

export const reportHref = (view: string, fields?: Parameters<typeof hrefTo>[1]) =>
  hrefTo(`/reports/${view}`, fields);
