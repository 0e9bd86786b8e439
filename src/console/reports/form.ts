import { z } from 'zod';
import { readForm, text } from '../read-form.ts';
import { formatLocal } from '../ui/time.ts';

/** Which rows of a report; the days `from` and `to` are both included. */
export type ReportFilter = ReturnType<typeof readReportForm>;

const defaultDays = 30;
const dayMs = 86_400_000;

/**
 * Reads the days, business and clinic of a report; by default the last days of all.
 *
 * @throws BadInput
 */
export function readReportForm(form: Record<string, unknown>, timezone: string, days = defaultDays) {
  const day = z.iso.date('Enter a day such as 2026-11-21.');
  const { data } = readForm(form, { from: day, to: day, business: text, clinic: text });
  const today = formatLocal(Date.now(), timezone).slice(0, 10);
  const first = new Date(Date.parse(today) - (days - 1) * dayMs).toISOString().slice(0, 10);
  return { ...data, from: data.from ?? first, to: data.to ?? today };
}
