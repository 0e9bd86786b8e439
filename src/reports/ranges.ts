const day = (year: number, month: number, date: number) =>
  new Date(Date.UTC(year, month, date)).toISOString().slice(0, 10);

/** From 0, a Monday. */
const weekday = (year: number, month: number, date: number) =>
  (new Date(Date.UTC(year, month, date)).getUTCDay() + 6) % 7;

type Range = (year: number, month: number, date: number) => readonly [from?: string, to?: string];

/** Days as of today, both ends included. */
export const ranges = {
  today: (year, month, date) => [day(year, month, date), day(year, month, date)],
  yesterday: (year, month, date) => [day(year, month, date - 1), day(year, month, date - 1)],
  this_week: (year, month, date) => [
    day(year, month, date - weekday(year, month, date)),
    day(year, month, date),
  ],
  last_week: (year, month, date) => [
    day(year, month, date - weekday(year, month, date) - 7),
    day(year, month, date - weekday(year, month, date) - 1),
  ],
  this_month: (year, month, date) => [day(year, month, 1), day(year, month, date)],
  last_month: (year, month) => [day(year, month - 1, 1), day(year, month, 0)],
  last_30_days: (year, month, date) => [day(year, month, date - 29), day(year, month, date)],
  last_365_days: (year, month, date) => [day(year, month, date - 364), day(year, month, date)],
  this_year: (year, month, date) => [day(year, 0, 1), day(year, month, date)],
  tomorrow: (year, month, date) => [day(year, month, date + 1), day(year, month, date + 1)],
  next_7_days: (year, month, date) => [day(year, month, date), day(year, month, date + 6)],
  all: () => [],
} as const satisfies Record<string, Range>;
export type RangeName = keyof typeof ranges;

/** The days that are asked for, or those of a range, and which that is; `today` is a day such as 2026-11-22. */
export function daysAskedFor(
  asked: { from?: string | undefined; to?: string | undefined },
  range: RangeName,
  today: string,
) {
  const { from, to } = asked;
  const [year, month, date] = today.split('-').map(Number) as [number, number, number];
  const [first, last]: readonly [string?, string?] = ranges[range](year, month - 1, date);
  return { from: from ?? (to ? undefined : first), to: to ?? last, range: from || to ? undefined : range };
}

/** Those that only a report of what is to come has. */
export const rangesToCome: readonly RangeName[] = ['tomorrow', 'next_7_days'];

/** Ages of an amount due, in days: the least and the greatest. */
export const ages = {
  '0_to_7': [null, 7],
  '8_to_30': [8, 30],
  '31_to_90': [31, 90],
  over_90: [91, null],
} as const;
export type Age = keyof typeof ages;

/** The first day of the first month, and of the one after the last, such as 2026-03-01; undefined: any. */
export interface Months {
  first: string | undefined;
  end: string | undefined;
}

const fewMonths = 3;

/** The whole months of days, both ends included; undefined: there are few. */
export function wholeMonths(from?: string, to?: string): Months | undefined {
  const first = from && monthOf(from, from.endsWith('-01') ? 0 : 1);
  const end = to && monthOf(new Date(Date.parse(to) + 86_400_000).toISOString(), 0);
  return !first || !end || monthOf(first, fewMonths) < end ? { first, end } : undefined;
}

const monthOf = (at: string, later: number) =>
  day(Number(at.slice(0, 4)), Number(at.slice(5, 7)) - 1 + later, 1);
