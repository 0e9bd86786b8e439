// Days of the calendar as PostgreSQL writes them, such as 2026-11-21.

export const dayMs = 86_400_000;

const partsOf = (day: string) => day.split('-').map(Number) as [year: number, month: number, date: number];

/** A day of these numbers; a month or a day beyond its bounds is one of another year or month. */
const dayOf = (year: number, month: number, date: number): string =>
  new Date(Date.UTC(year, month - 1, date)).toISOString().slice(0, 10);

/** Days before 1900 and after 2999 are none. */
export const isDay = (text: string): boolean =>
  /^(19|2\d)\d\d-\d\d-\d\d$/.test(text) && dayOf(...partsOf(text)) === text;

export const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / dayMs;

export function addDays(day: string, days: number): string {
  const [year, month, date] = partsOf(day);
  return dayOf(year, month, date + days);
}

/** The first day of a month, some months later. */
export function addMonths(day: string, months: number): string {
  const [year, month] = partsOf(day);
  return dayOf(year, month + months, 1);
}

export const monthStart = (day: string): string => addMonths(day, 0);
export const monthEnd = (day: string): string => addDays(addMonths(day, 1), -1);

const format = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'medium' });

/** A day for people: 21 Nov 2026. Another text is itself. */
export const formatDay = (text: string): string => (isDay(text) ? format.format(new Date(text)) : text);
