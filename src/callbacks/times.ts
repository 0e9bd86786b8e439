import { z } from 'zod';
import { dayMs } from '../common/days.ts';
import { Decimal } from './exact-json.ts';

const isoTime = z.iso.datetime({ offset: true }).max(40);
// PostgreSQL takes no offset of 16 hours.
const largeOffset = /[+-](?:1[6-9]|2\d):\d\d$/;

/** Milliseconds since 1970; NaN unless it is ISO 8601 with an offset; also with a space for the T. */
function parseIsoTime(text: string): number {
  const plain = text.replace(' ', 'T');
  return isoTime.safeParse(plain).success && !largeOffset.test(plain) ? Date.parse(plain) : Number.NaN;
}

export const lacksOffset = (value: unknown): boolean =>
  typeof value === 'string' && !Number.isNaN(parseIsoTime(`${value}Z`));

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
