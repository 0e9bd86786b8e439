import { hash as hashOf } from 'node:crypto';
import type pg from 'pg';
import type { Delivery, RecordKey } from '../../callbacks/delivery.ts';
import { hashedPrefix, isReduced } from '../../callbacks/reduce.ts';
import { recordSubject } from '../../callbacks/subjects.ts';
import { keysOf } from '../store/statements/merge-records.ts';

// To whom a callback belongs: the patients that it names. If it names none, those of the callback of its record with the nearest
// earlier version that does, else the next. If its record names none, those of the records that it refers to, by the same rule.
// Erasures, the gate, exports, holds, retention and the access log follow it.

type DeliveryHead = Omit<Delivery, 'body' | 'data'>;

/** A callback of a record, without its content. */
export interface RecordCallback {
  delivery: DeliveryHead;
  isStored: boolean;
  isReduced: boolean;
  /** The salted hashes of those that it names. */
  patientHashes: string[];
  /** If it names none: the callback of its record that does. */
  nearest: RecordCallback | undefined;
  /** Its own, or by the same rule those of another callback of its record. */
  references: RecordKey[];
}

/** In the order of versions, by the subjects of records. */
type CallbacksOfRecords = Map<string, RecordCallback[]>;

export type Hash = (subject: string) => string;

export interface Owners {
  /**
   * Reads records, and those that they refer to where their own callbacks do not say whose they are. A record that others refer
   * to refers to none.
   *
   * @returns the records that were not read before
   */
  read: (records: readonly RecordKey[]) => Promise<CallbacksOfRecords>;
  callbacksOf: (record: RecordKey) => readonly RecordCallback[];
  /** The callbacks that name the patients to whom a callback belongs. */
  namingOf: (callback: RecordCallback) => readonly RecordCallback[];
}

export const subjectOf = ({ family, businessId, recordId }: RecordKey): string =>
  recordSubject(family, businessId, recordId);

/** @returns `receiver.hash_of` of a subject that is not hashed yet */
export async function openHash(client: pg.ClientBase): Promise<Hash> {
  const { rows } = await client.query<{ value: string }>(
    `select value from receiver.settings where name = 'salt'`,
  );
  const salt = rows[0]!.value;
  return (subject) => hashOf('sha256', salt + subject);
}

/** @param incoming deliveries that are to be stored, and count like stored ones */
export function openOwners(client: pg.ClientBase, hash: Hash, incoming: readonly Delivery[] = []): Owners {
  const lists: CallbacksOfRecords = new Map();
  const callbacksOf = (record: RecordKey) => lists.get(subjectOf(record)) ?? [];

  const readMissing = async (records: readonly RecordKey[]): Promise<CallbacksOfRecords> => {
    const missing = new Map(records.map((record) => [subjectOf(record), record]));
    for (const subject of missing.keys()) if (lists.has(subject)) missing.delete(subject);
    if (missing.size === 0) return new Map();
    const added = await readRecords(client, [...missing.values()], incoming, hash);
    for (const [subject, callbacks] of added) lists.set(subject, callbacks);
    return added;
  };
  const read = async (records: readonly RecordKey[]) => {
    const own = await readMissing(records);
    const unclear = [...own.values()].flat().filter((callback) => namingOwn(callback).length === 0);
    return new Map([...own, ...(await readMissing(unclear.flatMap(({ references }) => references)))]);
  };

  const namingOwn = (callback: RecordCallback) =>
    callback.patientHashes.length > 0 ? [callback] : [callback.nearest ?? []].flat();
  const namingOf = (callback: RecordCallback) => {
    const own = namingOwn(callback);
    if (own.length > 0) return own;
    const { references, delivery } = callback;
    return references.flatMap((record) => nearestNaming(callbacksOf(record), delivery.version) ?? []);
  };
  return { read, callbacksOf, namingOf };
}

/** The salted hashes of the patients to whom callbacks of records belong, for each record. */
export async function readOwners(client: pg.ClientBase, records: readonly RecordKey[]): Promise<string[][]> {
  const owners = openOwners(client, await openHash(client));
  await owners.read(records);
  return records.map((record) => {
    const naming = new Set(owners.callbacksOf(record).flatMap(owners.namingOf));
    return [...new Set([...naming].flatMap(({ patientHashes }) => patientHashes))];
  });
}

function nearestNaming(callbacks: readonly RecordCallback[], version: string): RecordCallback | undefined {
  const naming = callbacks.filter(({ patientHashes }) => patientHashes.length > 0);
  return (
    naming.findLast(({ delivery }) => delivery.version < version) ??
    naming.find(({ delivery }) => delivery.version > version)
  );
}

export function referencesOf({
  subjects,
  businessId,
}: Pick<Delivery, 'subjects' | 'businessId'>): RecordKey[] {
  return subjects.flatMap((subject) => {
    const [, family] = /^r:([^:]*):/.exec(subject) ?? [];
    if (family === undefined) return [];
    return [{ family, businessId, recordId: subject.slice(recordSubject(family, businessId, '').length) }];
  });
}

const heads = `id, family, event, client_id as "clientId", business_id as "businessId", record_id as "recordId", version,
  to_jsonb(extract(epoch from event_time) * 1000) as "eventMs", subjects,
  to_jsonb(extract(epoch from received_at) * 1000000) as "receivedAt"`;

async function readRecords(
  client: pg.ClientBase,
  records: readonly RecordKey[],
  incoming: readonly Delivery[],
  hash: Hash,
): Promise<CallbacksOfRecords> {
  const { rows } = await client.query<DeliveryHead>(
    `select i.* from unnest($1::text[], $2::text[], $3::text[]) as k(business, record, family)
     cross join lateral (
       select ${heads} from receiver.inbox where business_id = k.business and family = k.family and record_id = k.record offset 0
     ) i`,
    [...keysOf(records), records.map(({ family }) => family)],
  );
  const lists: CallbacksOfRecords = new Map(records.map((record) => [subjectOf(record), []]));
  const add = (delivery: DeliveryHead, isStored: boolean) => {
    const patientHashes = delivery.subjects.flatMap((subject) => {
      if (subject.startsWith(hashedPrefix)) return [subject.slice(hashedPrefix.length)];
      return subject.startsWith('p:') ? [hash(subject)] : [];
    });
    const references = referencesOf(delivery);
    const facts = { delivery, isStored, isReduced: isReduced(delivery) };
    lists.get(subjectOf(delivery))?.push({ ...facts, patientHashes, nearest: undefined, references });
  };
  for (const delivery of rows) add(delivery, true);
  const stored = new Set(rows.map(({ id }) => id));
  for (const delivery of incoming) if (!stored.has(delivery.id)) add(delivery, false);
  for (const callbacks of lists.values()) addNearest(callbacks);
  return lists;
}

/** Sorts the callbacks of a record, and completes them by each other. */
function addNearest(callbacks: RecordCallback[]): void {
  callbacks.sort((a, b) => (a.delivery.version < b.delivery.version ? -1 : 1));
  let nearest = callbacks.find(({ patientHashes }) => patientHashes.length > 0);
  let references = callbacks.find((callback) => callback.references.length > 0)?.references ?? [];
  for (const callback of callbacks) {
    if (callback.patientHashes.length > 0) nearest = callback;
    else callback.nearest = nearest;
    if (callback.references.length > 0) references = callback.references;
    else callback.references = references;
  }
}
