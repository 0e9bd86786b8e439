// Days of the calendar as PostgreSQL writes them, such as 2026-11-21.

export const dayMs = 86_400_000;

const partsOf = (day: string) => day.split('-').map(Number) as [year: number, month: number, date: number];

/** A day of these numbers; a month or a day beyond its bounds is one of another year or month. */
export const dayOf = (year: number, month: number, date: number): string =>
  new Date(Date.UTC(year, month - 1, date)).toISOString().slice(0, 10);

/** Days before 1900 and after 2999 are none. */
export const isDay = (text: string): boolean =>
  /^(19|2\d)\d\d-\d\d-\d\d$/.test(text) && dayOf(...partsOf(text)) === text;

export const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / dayMs;

export function addDays(day: string, days: number): string {
  const [year, month, date] = partsOf(day);
  return dayOf(year, month, date + days);
}

/** As PostgreSQL adds them: a day that the month does not have is its last. */
export function addMonths(day: string, months: number): string {
  const [year, month, date] = partsOf(day);
  const [, , last] = partsOf(dayOf(year, month + months + 1, 0));
  return dayOf(year, month + months, Math.min(date, last));
}

export const monthStart = (day: string): string => `${day.slice(0, 7)}-01`;

export function monthEnd(day: string): string {
  const [year, month] = partsOf(day);
  return dayOf(year, month + 1, 0);
}

/** From 0, a Monday. */
export const weekdayOf = (day: string): number => (new Date(day).getUTCDay() + 6) % 7;

const format = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'medium' });

/** A day for people: 21 Nov 2026. Another text is itself. */
export const formatDay = (text: string): string => (isDay(text) ? format.format(new Date(text)) : text);
