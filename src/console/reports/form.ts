import { z } from 'zod';
import { daysBetween, formatDay, isDay } from '../../common/days.ts';
import { formatLocal, parseLocal } from '../../common/local-times.ts';
import type { Aliases } from '../../reconcile/aliases.ts';
import { BadInput } from '../page.ts';
import { choice, localTime, oneOf, parseForm, receiptId, text } from '../read-form.ts';
import { hrefTo } from '../ui/context.ts';
import type { Asked } from './queries.ts';
import { ages, daysAskedFor, ranges } from './ranges.ts';
import type { Report } from './report.ts';
import { filtersOf, type ReportColumn } from './view-columns.ts';

/** The database reads the rows of the pages before, too. */
export const mostPages = 50;

const keysOf = <Key extends string>(record: Record<Key, unknown>) => Object.keys(record) as Key[];

interface FormOf {
  report: Report;
  columns: readonly ReportColumn[];
  timezone: string;
  aliases?: Aliases | undefined;
}

/**
 * Reads which rows of a report are asked for, and in which order. `from` and `to` are both included, and take precedence over a
 * range; a receipt is looked for in all days.
 *
 * @returns with `range`, unless other days are asked for; `isWide`: whether all columns are shown; `entered`: the fields of
 *   its address; the `fields` that the report has; `faults` of these
 * @throws BadInput for another field
 */
export function readReportForm(form: Record<string, unknown>, of: FormOf) {
  const { report, columns, timezone, aliases } = of;
  const filters = filtersOf(report, columns);
  const names = columns.map(({ name }) => name);
  const oneDay = z.string().refine(isDay, 'Enter a day such as 2026-11-21.');
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
    sort: z.string().refine((by) => names.includes(by.replace('-', '')), 'Unknown column.'),
    columns: oneOf(['all']),
    page: z.coerce
      .number('Unknown page.')
      .int()
      .min(1)
      .max(mostPages, `There are ${mostPages} pages at most.`),
  };
  const { data, entered, faults, fields } = parseForm(form, shape, aliases);
  const usual = data.range ?? (data.receipt ? 'all' : (report.range ?? 'last_30_days'));
  const { from, to, range } = daysAskedFor(data, usual, formatLocal(Date.now(), timezone).slice(0, 10));
  // The end of this minute; in the address, so that it says the same tomorrow.
  if (report.rowsOf) entered.at ??= formatLocal(Date.now() + 60_000, timezone).slice(0, 16);
  const at = entered.at === undefined ? undefined : parseLocal(entered.at, timezone);
  if (data.from && data.to && daysBetween(data.from, data.to) < 0)
    faults.to = `This is before ${formatDay(data.from)}.`;
  const { range: _, columns: wanted, ...others } = data;
  const known = fields.filter(({ name }) => filters[name as keyof typeof filters]);
  const unseen = Object.entries(faults).filter(([name]) => !known.some((field) => field.name === name));
  if (unseen.length > 0) throw new BadInput(unseen.map(([, fault]) => fault).join(' '));
  return {
    filter: { ...others, from, to, at },
    isWide: wanted === 'all',
    range,
    entered,
    faults,
    fields: known,
  };
}

/** A report, and what is asked of it. */
export type AskedForm = Asked & Omit<ReturnType<typeof readReportForm>, 'filter'>;

export const reportHref = (view: string, fields?: Parameters<typeof hrefTo>[1]) =>
  hrefTo(`/reports/${view}`, fields);
