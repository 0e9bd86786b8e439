// Days of the calendar as PostgreSQL writes them: 2026-11-21, 10000-01-01, 0001-12-31 BC. As texts they are not in their order, and
// Date neither reads nor writes those after the year 9999 and before the year 1.

const dayMs = 86_400_000;

/** The days of the first and the last moment that PostgreSQL has. */
const firstDay = '4713-01-01 BC';
const lastDay = '275760-01-01';

const written = /^(\d{4,6})-(\d\d)-(\d\d)( BC)?$/;

/** Midnight of a day that may be beyond its month, in UTC. */
const midnightOf = (year: number, month: number, date: number) =>
  new Date(0).setUTCFullYear(year, month - 1, date);

function partsOf(day: string): [year: number, month: number, date: number] {
  const [, years, month, date, era] = written.exec(day) ?? [];
  // Before the year 1 comes the year 1 BC.
  return [era ? 1 - Number(years) : Number(years), Number(month), Number(date)];
}

/** A day of these numbers; a month or a day beyond its bounds is one of another year or month. */
export function dayOf(year: number, month: number, date: number): string {
  const at = new Date(midnightOf(year, month, date));
  const text = (value: number, digits = 2) => String(value).padStart(digits, '0');
  const years = at.getUTCFullYear();
  const days = `${text(at.getUTCMonth() + 1)}-${text(at.getUTCDate())}`;
  return years > 0 ? `${text(years, 4)}-${days}` : `${text(1 - years, 4)}-${days} BC`;
}

/** Midnight of a day in UTC, in milliseconds since 1970; NaN for what is no day. */
export function startOf(day: string): number {
  const [year, month, date] = partsOf(day);
  // 30 February would be one of March. There is no year 0.
  return dayOf(year, month, date) === day ? midnightOf(year, month, date) : Number.NaN;
}

/** Whether a text is a day that reports count on. */
export const isDay = (text: string): boolean =>
  startOf(text) >= startOf(firstDay) && startOf(text) <= startOf(lastDay);

/** How many days later the second is. */
export const daysBetween = (from: string, to: string): number => (startOf(to) - startOf(from)) / dayMs;

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

/** The first day of its month. */
export function monthStart(day: string): string {
  const [year, month] = partsOf(day);
  return dayOf(year, month, 1);
}

/** The last day of its month. */
export function monthEnd(day: string): string {
  const [year, month] = partsOf(day);
  return dayOf(year, month + 1, 0);
}

/** From 0, a Monday. */
export const weekdayOf = (day: string): number => (new Date(startOf(day)).getUTCDay() + 6) % 7;

const formats = [undefined, 'short'].map(
  (era) =>
    new Intl.DateTimeFormat('en-GB', {
      timeZone: 'UTC',
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      era: era as 'short' | undefined,
    }),
);

/** A day for people: 21 Nov 2026, 31 Dec 1 BC. Another text is itself. */
export function formatDay(text: string): string {
  const at = startOf(text);
  return Number.isNaN(at) ? text : formats[text.endsWith('BC') ? 1 : 0]!.format(new Date(at));
}
