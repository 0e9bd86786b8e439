import { addDays, addMonths, formatDay, monthEnd, monthStart } from '../../common/days.ts';

type Range = (today: string) => readonly [from: string | undefined, to: string | undefined];

const lastMonth = (today: string) => addMonths(today, -1);

/** Days as of today, both ends included. */
export const ranges = {
  today: (today) => [today, today],
  yesterday: (today) => [addDays(today, -1), addDays(today, -1)],
  this_month: (today) => [monthStart(today), today],
  last_month: (today) => [lastMonth(today), monthEnd(lastMonth(today))],
  last_7_days: (today) => [addDays(today, -6), today],
  last_30_days: (today) => [addDays(today, -29), today],
  last_13_months: (today) => [addMonths(today, -12), today],
  tomorrow: (today) => [addDays(today, 1), addDays(today, 1)],
  next_7_days: (today) => [today, addDays(today, 6)],
  all: () => [undefined, undefined],
} as const satisfies Record<string, Range>;
export type RangeName = keyof typeof ranges;

export const rangesToCome: readonly RangeName[] = ['tomorrow', 'next_7_days'];

export const nameOfMonth = (month: string) => formatDay(`${month}-01`).replace(/^1 /, '');

/** Days for people: 1 to 28 Nov 2026. */
export function describeDays(from: string | undefined, to: string | undefined): string {
  if (!from && !to) return 'All days';
  if (!from) return `Until ${formatDay(to!)}`;
  if (!to) return `From ${formatDay(from)}`;
  if (from === to) return formatDay(from);
  const [first, last] = [formatDay(from), formatDay(to)];
  if (from.slice(0, 7) === to.slice(0, 7)) return `${first.split(' ')[0]} to ${last}`;
  return from.slice(0, 4) === to.slice(0, 4) ? `${first.slice(0, -5)} to ${last}` : `${first} to ${last}`;
}
