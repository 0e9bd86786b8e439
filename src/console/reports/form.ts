import { z } from 'zod';
import { BadInput } from '../errors.ts';
import type { ReportFilter } from './query.ts';

const ordinaryDays = 30;
const dayMs = 86_400_000;

/** The present day in a time zone, and the one with which the ordinary range begins. */
function ordinaryRange(timezone: string): { from: string; to: string } {
  const today = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).format();
  const from = new Date(Date.parse(today) - (ordinaryDays - 1) * dayMs).toISOString().slice(0, 10);
  return { from, to: today };
}

/**
 * Reads the days, business and clinic of a report; what is left out is the last 30 days of all.
 *
 * @throws BadInput
 */
export function readReportForm(form: Record<string, unknown>, timezone: string): ReportFilter {
  const filled = Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''));
  const range = ordinaryRange(timezone);
  const day = z.iso.date('A day is written as 2026-11-21.');
  const text = z
    .string()
    .trim()
    .max(200)
    .transform((value) => value.replaceAll('\0', ''));
  const parsed = z
    .object({
      from: day.default(range.from),
      to: day.default(range.to),
      business: text.optional(),
      clinic: text.optional(),
    })
    .safeParse(filled);
  if (!parsed.success) throw new BadInput(parsed.error.issues.map(({ message }) => message).join(' '));
  return parsed.data;
}
