import { z } from 'zod';
import { daysBetween, formatDay, isDay } from '../../common/days.ts';
import { formatLocal, parseLocal } from '../../common/local-times.ts';
import type { Aliases } from '../../reconcile/aliases.ts';
import { BadInput } from '../page.ts';
import { choice, type Form, localTime, oneOf, parseForm, receiptId, text } from '../read-form.ts';
import { hrefTo, type Values } from '../ui/context.ts';
import { filtersOf, type ReportFilter, type ReportQuery, type ReportSource } from './queries.ts';
import { ages, daysOfRange, type RangeName, ranges } from './ranges.ts';

/** The database reads the rows of the pages before, too. */
export const maxPages = 50;

const keysOf = <Key extends string>(record: Record<Key, unknown>) => Object.keys(record) as Key[];

export interface ReportRequest extends ReportQuery, Form {
  /** Undefined where other days are entered. */
  range: RangeName | undefined;
  hasDays: boolean;
  hasAges: boolean;
  isWide: boolean;
}

/**
 * `from` and `to` are both included, and take precedence over a range; a receipt is looked for in all days.
 *
 * @throws BadInput where a field is wrong that the form does not show
 */
export function readReportForm(
  form: Record<string, unknown>,
  source: ReportSource,
  { timezone, aliases }: { timezone: string; aliases?: Aliases },
): ReportRequest {
  const { report, columns } = source;
  const filters = filtersOf(source);
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
    status: choice('Status', ['failed']),
    at: localTime(timezone, 'As of'),
    sort: z
      .string()
      .refine((by) => columns.some(({ name }) => name === by.replace('-', '')), 'Unknown column.'),
    columns: oneOf(['all']),
    page: z.coerce.number('Unknown page.').int().min(1).max(maxPages, `There are ${maxPages} pages at most.`),
  };
  const { data, entered, faults, fields } = parseForm(form, shape, aliases);
  const { range: wanted, columns: width, ...others } = data;
  const usual = wanted ?? (data.receipt ? 'all' : (report.range ?? 'last_30_days'));
  const today = formatLocal(Date.now(), timezone).slice(0, 10);
  const [first, last] = daysOfRange(usual, today);
  const from = data.from ?? (data.to ? undefined : first);
  const until = data.from ? (report.hasDaysToCome ? undefined : today) : last;
  // The end of this minute; in the address, so that it says the same tomorrow.
  if (report.rowsOf) entered.at ??= formatLocal(Date.now() + 60_000, timezone).slice(0, 16);
  const at = entered.at === undefined ? undefined : parseLocal(entered.at, timezone);
  if (data.from && data.to && daysBetween(data.from, data.to) < 0)
    faults.to = `This is before ${formatDay(data.from)}.`;
  if (data.from && !report.hasDaysToCome && daysBetween(today, data.from) > 0)
    faults.from = 'This day is yet to come.';
  const shown = fields.filter(({ name }) => filters[name as keyof typeof filters]);
  const hidden = Object.entries(faults).filter(([name]) => !shown.some((field) => field.name === name));
  if (hidden.length > 0) throw new BadInput(hidden.map(([, fault]) => fault).join(' '));
  const filter: ReportFilter = { ...others, from, to: data.to ?? until, at };
  for (const name of keysOf(filters)) if (!filters[name]) delete filter[name];
  return {
    ...source,
    filter,
    fields: shown,
    entered,
    faults,
    range: data.from || data.to ? undefined : usual,
    hasDays: filters.from !== undefined,
    hasAges: filters.age !== undefined,
    isWide: width === 'all',
  };
}

export const reportHref = (view: string, fields?: Values) => hrefTo(`/reports/${view}`, fields);
