import { addDays, addMonths, daysBetween, monthEnd, monthStart, monthsBetween } from '../common/days.ts';

/** What days are compared with. */
export const comparisons = ['previous_period', 'same_period_last_year'] as const;
export type Comparison = (typeof comparisons)[number];

/** Days such as 2026-11-22, both included. */
export interface Period {
  from: string;
  to: string;
}

/** An earlier period, and how much later each of its days is to be counted, so that it meets the day it is compared with. */
export interface EarlierPeriod extends Period {
  months: number;
  days: number;
}

/**
 * The days that a period is compared with. Before days of one month, or whole months, come the same days of the month before, or
 * as many months; before other days come as many days.
 */
export function periodBefore({ from, to }: Period, comparison: Comparison): EarlierPeriod {
  const months = comparison === 'same_period_last_year' ? 12 : monthsOf(from, to);
  if (months > 0) {
    const before =
      to === monthEnd(to) ? monthEnd(addMonths(monthStart(to), -months)) : addMonths(to, -months);
    return { from: addMonths(from, -months), to: before, months, days: 0 };
  }
  const days = daysBetween(from, to) + 1;
  return { from: addDays(from, -days), to: addDays(from, -1), months: 0, days };
}

/** How many months days are that begin with a month, and end in the same one or with a month; 0: they are other days. */
function monthsOf(from: string, to: string): number {
  const months = monthsBetween(from, to);
  return from === monthStart(from) && (months === 0 || to === monthEnd(to)) ? months + 1 : 0;
}
