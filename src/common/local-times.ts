// Kept, because a page has a thousand times, and making a format takes longer than using it.
const formats = new Map<string, Intl.DateTimeFormat>();

function format(at: Date, timeZone: string, timeStyle: 'medium' | 'short'): string {
  const key = `${timeStyle} ${timeZone}`;
  const kept =
    formats.get(key) ?? new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'medium', timeStyle });
  formats.set(key, kept);
  return kept.format(at);
}

/** A time in a time zone: 21 Nov 2026, 09:04:05. */
export const formatMoment = (at: Date, timezone: string): string => format(at, timezone, 'medium');

/** A time in a time zone, without seconds, and without the year where it is this one: 21 Nov, 09:04. */
export const formatShort = (at: Date, timezone: string): string =>
  format(at, timezone, 'short').replace(` ${new Date().getFullYear()},`, ',');

/** A time in a time zone: 2026-11-21T09:04:05. Sweden writes the date as ISO 8601 does. */
export const formatLocal = (moment: number, timezone: string): string =>
  new Date(moment).toLocaleString('sv-SE', { timeZone: timezone }).replace(' ', 'T');

/** A moment that PostgreSQL wrote, such as 2026-11-21 09:04:05.123+05:30; undefined for infinity. */
export function parseMoment(text: string): Date | undefined {
  const at = new Date(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));
  return Number.isNaN(at.getTime()) ? undefined : at;
}
