import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { isDay } from './days.ts';
import { uuid } from './uuid.ts';

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time as ISO 8601, or as an age: 30m, 12h, 7d. */
export function parseTime(text: string): Date {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const time = unit ? new Date(Date.now() - Number(count) * units[unit]!) : new Date(text);
  if (Number.isNaN(time.getTime())) {
    throw new InvalidArgumentError(
      'A time must be a date such as 2026-01-31T09:00Z, or an age such as 30m, 12h or 7d.',
    );
  }
  return time;
}

/** A day as ISO 8601. */
export function parseDay(text: string): string {
  if (isDay(text)) return text;
  throw new InvalidArgumentError('A day must be a date such as 2026-01-31.');
}

/** A positive number of rows. */
export function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('A number of rows must be a whole number of 1 or more.');
}

/** An id of a delivery or of a quarantined body. */
export function parseUuid(text: string): string {
  if (uuid.test(text)) return text;
  throw new InvalidArgumentError('An id must be a UUID such as 018bcfe5-6800-8a3c-9f10-0123456789ab.');
}

/** What may identify a patient. `-` is read from standard input: other users of the machine see the arguments of a process. */
export const orInput = (text: string): string => (text === '-' ? readFileSync(0, 'utf8').trim() : text);

/** The same of several, a line each. */
export const linesOrInput = (text: string, others: string[] = []) => [
  ...others,
  ...orInput(text).split(/\r?\n/),
];
