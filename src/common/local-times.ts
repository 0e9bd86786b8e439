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

/** A duration in its two largest units: 3 d 4 h. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 10) return `${Number(seconds.toFixed(seconds < 1 ? 2 : 1))} s`;
  const units = Object.entries({ d: 86_400, h: 3_600, min: 60, s: 1 });
  const first = units.findIndex(([, size]) => seconds >= size);
  let left = Math.floor(seconds);
  const words = units.slice(first, first + 2).map(([name, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count > 0 ? `${count} ${name}` : '';
  });
  return words.filter(Boolean).join(' ');
}

/** @param text such as 2026-11-21T09:04, as a browser's field sends it. @returns undefined if it is none */
export function parseLocal(text: string, timezone: string): Date | undefined {
  const reading = Date.parse(`${text}Z`);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) || Number.isNaN(reading)) return undefined;
  // If the offset changes in between, the second estimate is on the right side of the change.
  const near = reading - offset(reading, timezone);
  const at = new Date(reading - offset(near, timezone));
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** The UTC offset of a time zone at a whole second, in milliseconds. */
const offset = (moment: number, timezone: string) => Date.parse(`${formatLocal(moment, timezone)}Z`) - moment;
