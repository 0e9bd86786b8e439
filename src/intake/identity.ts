import { hash as hashOf } from 'node:crypto';
import { uuidV8 } from '../uuid.ts';
import { canonicalJson } from './canonical-json.ts';

/** The fields of a callback that make it what it is; `timestamp` is not one: a resend may carry a new one. */
export interface Identifiable {
  event: string;
  event_time: number;
  client_id: string;
  business_id: string;
  data: object;
}

/**
 * The id of a delivery: a UUID (version 8) of the event time in milliseconds and of a SHA-256 over the
 * canonical JSON of what the callback says. The same callback has the same id, and ids sort by time.
 */
export function identify({ event, event_time, client_id, business_id, data }: Identifiable): string {
  const content = canonicalJson({ event, event_time, client_id, business_id, data });
  const hash = hashOf('sha256', content);
  const time = Math.max(0, milliseconds(event_time)).toString(16).padStart(12, '0');
  return uuidV8(time, hash);
}

/** Units are not documented: above 1e11 a time is in milliseconds, else in seconds. */
export function milliseconds(time: number): number {
  return time > 1e11 ? time : time * 1000;
}
