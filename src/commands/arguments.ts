import { InvalidArgumentError } from 'commander';
import { uuid } from '../uuid.ts';

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A moment given as a date and time (ISO 8601), or as how long ago: 30m, 12h, 7d. */
export function parseMoment(text: string): Date {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const moment = unit ? new Date(Date.now() - Number(count) * units[unit]!) : new Date(text);
  if (Number.isNaN(moment.getTime())) {
    throw new InvalidArgumentError(
      'A time is a date such as 2026-01-31T09:00Z, or how long ago: 30m, 12h, 7d.',
    );
  }
  return moment;
}

/** The id of a delivery or of a body in the quarantine. */
export function parseUuid(text: string): string {
  if (uuid.test(text)) return text;
  throw new InvalidArgumentError('An id is a UUID, such as 018bcfe5-6800-8a3c-9f10-0123456789ab.');
}
