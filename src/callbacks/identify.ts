import { hash as hashOf } from 'node:crypto';
import type { AnyCallback } from './callback.ts';
import { canonicalJson } from './exact-json.ts';
import { classOf, eventClasses, type Family, keyFieldOf } from './families/family.ts';
import { keyText } from './families/field.ts';
import { isAfterEvent, readTime } from './times.ts';

const members: ReadonlySet<string> = new Set(['event', 'event_time', 'client_id', 'business_id', 'data']);
// Parts of two admissions may be equal but for these.
const membersWithTransaction: ReadonlySet<string> = new Set([...members, 'transaction_id', 'partition_id']);

/** The members of the envelope that identify a callback. Not `timestamp`: a resend may carry a new one. */
const identifyingMembers = ({ key, fields }: Family): ReadonlySet<string> =>
  key === undefined || Object.values(fields).some(({ fromEnvelope }) => fromEnvelope)
    ? membersWithTransaction
    : members;

/** Hexadecimal SHA-256 of the canonical JSON of what identifies a callback. */
export function digestOf(callback: unknown, family: Family): string {
  const wanted = identifyingMembers(family);
  const identifying: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(Object(callback)))
    if (wanted.has(name) && !(isEmpty(value) && ids.has(name))) identifying[name] = value;
  return hashOf('sha256', canonicalJson(identifying));
}

/** An empty one counts as absent. */
const ids: ReadonlySet<string> = new Set(['client_id', 'business_id']);
const isEmpty = (value: unknown) => value == null || value === '';

/**
 * A UUID of version 8 (RFC 9562).
 *
 * @param head 12 hexadecimal digits, in front of the version
 * @param rest at least 19, of which the fourth loses two bits to the variant
 */
export function uuidV8(head: string, rest: string): string {
  const variant = (8 + (Number.parseInt(rest[3]!, 16) & 3)).toString(16);
  return (
    `${head.slice(0, 8)}-${head.slice(8)}-8${rest.slice(0, 3)}-` +
    `${variant}${rest.slice(4, 7)}-${rest.slice(7, 19)}`
  );
}

/** A UUID of version 8, so that ids sort by the time of the event. */
export const idOf = (eventMs: number, digest: string): string =>
  uuidV8(eventMs.toString(16).padStart(12, '0'), digest);

/** @returns undefined where each callback is a record of its own */
export function recordIdOf(callback: AnyCallback, family: Family): string | undefined {
  const { key = '' } = family;
  const field = keyFieldOf(family);
  return field && keyText(field, field.fromEnvelope ? field.fromEnvelope(callback) : callback.data[key]);
}

// versionOf is called for every callback: the digits of one number after the other take ten times as long.
const scratch = Buffer.alloc(26);
const maxSecond = 0xff_ffff_ffff;

/**
 * Hexadecimal digits that sort bytewise by the second of the event, the second of the record's change, the class of the
 * event, then by those times with their milliseconds, `timestamp`, arrival and id. Seconds come before the class because some
 * times have milliseconds and others do not. `receivedAt` is in microseconds.
 */
export function versionOf(
  callback: AnyCallback,
  family: Family,
  { eventMs, receivedAt, id }: { eventMs: number; receivedAt: number; id: string },
): string {
  const eventClass = classOf(family, callback.event);
  const changed = family.changeTime === undefined ? undefined : readTime(callback.data[family.changeTime]);
  const isAbsent = changed == null || isAfterEvent(changed, eventMs);
  const isLast = isAbsent && eventClass === 'deleted';
  const changeMs = isAbsent ? eventMs : changed;
  const classAndMs =
    eventClasses.indexOf(eventClass) * 2 ** 20 +
    (isLast ? 999 : changeMs % 1000) * 2 ** 10 +
    (eventMs % 1000);
  scratch.writeUIntBE(Math.floor(eventMs / 1000), 0, 5);
  scratch.writeUIntBE(isLast ? maxSecond : Math.floor(changeMs / 1000), 5, 5);
  scratch.writeUIntBE(classAndMs, 10, 3);
  scratch.writeUIntBE(readTime(callback.timestamp) ?? 0, 13, 6);
  scratch.writeUIntBE(Math.floor(receivedAt / 2 ** 32), 19, 3);
  scratch.writeUInt32BE(receivedAt % 2 ** 32, 22);
  return scratch.toString('hex') + endOf(id);
}

// The end of the digest is enough of an id.
const endOf = (id: string) => id.slice(24);
export const versionWith = (version: string, id: string): string =>
  version.slice(0, -endOf(id).length) + endOf(id);
