import { hash as hashOf } from 'node:crypto';
import type { AnyEnvelope } from '../families/index.ts';
import { uuidV8 } from '../uuid.ts';
import { canonicalJson } from './canonical-json.ts';

/** The fields that identify a callback. Not `timestamp`: a resend may have a new one. */
type Identifiable = Pick<AnyEnvelope, 'event' | 'event_time' | 'client_id' | 'business_id' | 'data'>;

/**
 * The id of a delivery: a UUID (version 8) of the event time in milliseconds and of a SHA-256 over the
 * canonical JSON of these fields. A resent callback has the same id, and ids sort by time.
 */
export function identify({ event, event_time, client_id, business_id, data }: Identifiable): string {
  const content = canonicalJson({ event, event_time, client_id, business_id, data });
  return idOf(event_time, hashOf('sha256', content));
}

/** The id of a delivery whose SHA-256 is known. */
export function idOf(eventTime: number, hash: string): string {
  const time = Math.max(0, milliseconds(eventTime)).toString(16).padStart(12, '0');
  return uuidV8(time, hash);
}

/** The event time of a delivery in milliseconds; 0 for one before 1970. */
export function eventTimeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** The unit is not documented: a time above 1e11 is in milliseconds, else in seconds. */
export function milliseconds(time: number): number {
  return time > 1e11 ? time : time * 1000;
}
