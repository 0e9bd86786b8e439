import { hash as hashOf } from 'node:crypto';
import { uuidV8 } from '../common/uuid.ts';
import { findEventTime } from '../families/event-time.ts';
import { type AnyEnvelope, type Family, isIdentifiedByEnvelope } from '../families/index.ts';
import { canonicalJson } from '../receiver/intake/canonical-json.ts';
import { isOptionalMember } from '../receiver/intake/plain-digest.ts';

/**
 * The fields that identify a callback, with `event` for `event_type`. Not `timestamp`, except for the time of an event that has
 * no other: a resend may have a new one.
 */
type Identifiable = Pick<AnyEnvelope, 'event' | 'event_time' | 'client_id' | 'business_id' | 'data'> & {
  timestamp?: unknown;
  transaction_id?: unknown;
};

/** The members of the envelope that the hash covers. */
const identifying: ReadonlySet<string> = new Set(['event', 'event_time', 'client_id', 'business_id', 'data']);

/** Fields that tell records without an id apart: two clearances of two patients may be equal but for these. */
const identifyingByTransaction: ReadonlySet<string> = new Set([...identifying, 'transaction_id']);

export const identifyingMembers = (family?: Family) =>
  family && isIdentifiedByEnvelope(family) ? identifyingByTransaction : identifying;

/**
 * The id of a delivery: a UUID (version 8) of the event time (findEventTime) in milliseconds and of a SHA-256 over the
 * canonical JSON of these fields. A resent callback has the same id, and ids sort by time.
 */
export function identify(envelope: Identifiable, family?: Family): string {
  const members = Object.entries(envelope).filter(
    ([name, value]) => identifyingMembers(family).has(name) && (value || !isOptionalMember(name)),
  );
  const hash = hashOf('sha256', canonicalJson(Object.fromEntries(members)));
  return idOf(findEventTime(envelope, family) ?? 0, hash);
}

/** The id of a delivery whose event time, in milliseconds, and SHA-256 are known. */
export function idOf(eventMs: number, hash: string): string {
  const time = Math.max(0, eventMs).toString(16).padStart(12, '0');
  return uuidV8(time, hash);
}

/** The event time of a delivery in milliseconds; 0 for one before 1970. */
export function eventTimeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
