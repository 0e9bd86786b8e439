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
    const before = isMonthEnd(to) ? endOf(addMonths(`${to.slice(0, 8)}01`, -months)) : addMonths(to, -months);
    return { from: addMonths(from, -months), to: before, months, days: 0 };
  }
  const days = daysOf(from, to);
  return { from: addDays(from, -days), to: addDays(from, -1), months: 0, days };
}

/** How many months days are that begin with a month, and end in the same one or with a month; 0: they are other days. */
function monthsOf(from: string, to: string): number {
  const [first, last] = [from, to].map((day) => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7))) as [
    number,
    number,
  ];
  return from.endsWith('-01') && (first === last || isMonthEnd(to)) ? last - first + 1 : 0;
}

const dayMs = 86_400_000;
const daysOf = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / dayMs + 1;
const dayOf = (moment: number) => new Date(moment).toISOString().slice(0, 10);

export const addDays = (day: string, days: number): string => dayOf(Date.parse(day) + days * dayMs);

const isMonthEnd = (day: string) => addDays(day, 1).endsWith('-01');

/** The last day of a month, by a day of it. */
export const endOf = (day: string): string =>
  dayOf(Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)), 0));

/** As PostgreSQL adds them: a day that the month does not have is its last. */
function addMonths(day: string, months: number): string {
  const first = dayOf(Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)) - 1 + months, 1));
  const last = endOf(first);
  return day.slice(8) > last.slice(8) ? last : first.slice(0, 8) + day.slice(8);
}
