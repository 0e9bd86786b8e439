import type { Family } from './family.ts';
import { milliseconds } from './iso-time.ts';

/** What lies before it says nothing about when something was done: 2000-01-01 UTC in milliseconds. */
export const earliestMs = 946_684_800_000;
/** The latest time that PostgreSQL and JavaScript write alike: 9999-12-31 in milliseconds. */
export const latestMs = 253_402_300_799_999;

/**
 * Whether the value of a time says nothing about when something was done: null, blank text, and what lies before 2000, such as
 * 0 and Go's zero time in each spelling. An absent value (undefined) is another matter, and so is what is no time.
 */
export function saysNothing(value: unknown): boolean {
  if (typeof value === 'number') return milliseconds(value) < earliestMs;
  if (typeof value === 'string') return value.trim() === '' || milliseconds(value) < earliestMs;
  return value === null;
}

/** The parts of a callback that tell when its event happened. */
interface Timed {
  event: string;
  event_time?: unknown;
  timestamp?: unknown;
  data: object;
}

/**
 * When the event of a callback happened, in milliseconds since 1970: `event_time`. Where that says nothing, the record's change
 * time, else `timestamp`; the callback alone decides, so that a replay finds the same time. The creation time is the change
 * time of the event that creates the record. A deletion has the later of both, because it may leave the change time as it was.
 *
 * @param callback a valid one
 * @param family the family that lists the event; undefined: its data has no time that is known
 * @returns undefined where no time says anything
 */
export function findEventTime(callback: Timed, family?: Family): number | undefined {
  const own = readTime(callback.event_time);
  if (own !== undefined) return own;
  const sent = readTime(callback.timestamp);
  const changed = family && changeTime(callback, family);
  if (changed === undefined || sent === undefined) return changed ?? sent;
  return callback.event === family!.deletedBy ? Math.max(changed, sent) : changed;
}

function changeTime({ event, data }: Timed, { events, fields, orderedBy }: Family): number | undefined {
  const read = (name: string) => readTime((data as Record<string, unknown>)[name]);
  const changed = orderedBy && read(orderedBy);
  return changed || (event === events[0] && fields.created_at ? read('created_at') : undefined);
}

/** @returns undefined where it says nothing, or is no time */
function readTime(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const ms = Math.floor(milliseconds(value));
  return ms >= earliestMs && ms <= latestMs ? ms : undefined;
}
