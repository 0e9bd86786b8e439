import { z } from 'zod';
import { readForm, shortText } from '../read-form.ts';
import type { ReportFilter } from './query.ts';

const defaultDays = 30;
const dayMs = 86_400_000;

/** The last 30 days in a time zone, today included. */
function defaultRange(timezone: string): { from: string; to: string } {
  const today = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).format();
  const from = new Date(Date.parse(today) - (defaultDays - 1) * dayMs).toISOString().slice(0, 10);
  return { from, to: today };
}

/**
 * Reads the days, business and clinic of a report; by default the last 30 days of all.
 *
 * @throws BadInput
 */
export function readReportForm(form: Record<string, unknown>, timezone: string): ReportFilter {
  const range = defaultRange(timezone);
  const day = z.iso.date('Enter a day such as 2026-11-21.');
  // PostgreSQL's text cannot hold U+0000.
  const text = shortText.transform((value) => value.replaceAll('\0', '')).optional();
  return readForm(form, {
    from: day.default(range.from),
    to: day.default(range.to),
    business: text,
    clinic: text,
  }).data;
}
