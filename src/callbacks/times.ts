import { dayMs } from '../common/days.ts';
import { Decimal } from './exact-json.ts';

const isoTime =
  /^(\d{4}-\d{2}-\d{2})[T ]((?:[01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d{1,9})?)?) ?(Z|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)(?:\[(?:!?(?:[a-z]+\/[\w+/-]{1,40}|utc|[+-]\d\d:\d\d)|u-ca=[a-z\d]{1,20})\])*$/i;

export const lacksOffset = (value: unknown): boolean =>
  typeof value === 'string' && !Number.isNaN(parseIsoTime(`${value.replace(/\[.*/, '')}Z`));

/** A valid time for PostgreSQL, which takes no comma and no zone in brackets. */
export const plainTime = (text: string): string =>
  /[,[]|:60/.test(text) ? new Date(parseIsoTime(text)).toISOString() : text;

/** Milliseconds since 1970; NaN unless it is ISO 8601 with an offset; also with a space for the T, or a zone in brackets. */
function parseIsoTime(text: string): number {
  const [, day, written, offset] = isoTime.exec(text) ?? [];
  if (!day || !written || !offset) return Number.NaN;
  const midnight = Date.parse(`${day}T00:00Z`);
  // Date.parse moves 30 February to March.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) return Number.NaN;
  const [hours = '0', minutes = '0'] = offset.match(/\d\d/g) ?? [];
  const aheadMs = (Number(hours) * 60 + Number(minutes)) * (offset[0] === '-' ? -60_000 : 60_000);
  // Date.parse knows three digits of a fraction, and no leap second: it is the first second of the next minute.
  const clock = written.replace(',', '.').replace(/(\.\d{3})\d+$/, '$1');
  return Date.parse(`${day}T${clock.replace(':60', ':59')}Z`) + (clock.includes(':60') ? 1_000 : 0) - aheadMs;
}

/** An earlier time says nothing about when something was done. */
const earliestMs = Date.UTC(2000, 0);
// Columns take the years 1900 to 2999.
const [firstMs, lastMs] = [Date.UTC(1900, 0), Date.UTC(3000, 0) - 1];

/**
 * Milliseconds since 1970; null: null or blank; undefined: no time. The unit of numbers is not documented: one above 1e11 is
 * in milliseconds, else in seconds (service-interface section 2.1).
 */
function momentOf(value: unknown): number | null | undefined {
  const plain = value instanceof Decimal ? Number(value.canonical) : value;
  if (plain === null || (typeof plain === 'string' && plain.trim() === '')) return null;
  if (typeof plain !== 'number' && typeof plain !== 'string') return undefined;
  const isIso = typeof plain === 'string' && !/^[ \t-\r]*-?\d{1,15}(\.\d{1,9})?[ \t-\r]*$/.test(plain);
  const time = isIso ? parseIsoTime(plain) : Number(plain);
  const ms = Math.floor(isIso || time > 1e11 ? time : time * 1000);
  return ms <= lastMs ? ms : undefined;
}

/** When something was done, in milliseconds since 1970; null: before 2000, null or blank; undefined: no time. */
export function readTime(value: unknown): number | null | undefined {
  const ms = momentOf(value);
  return ms != null && ms < earliestMs ? null : ms;
}

export function isStorableTime(value: unknown): boolean {
  const ms = momentOf(value);
  return ms === null || (ms !== undefined && ms >= firstMs);
}

/** More than a day after the event, it does not say when something was done before that. */
export const isAfterEvent = (ms: number, eventMs: number): boolean => ms > eventMs + dayMs;
