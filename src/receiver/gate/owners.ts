import { hash as hashOf } from 'node:crypto';
import type pg from 'pg';
import type { Delivery, RecordKey } from '../../callbacks/delivery.ts';
import { hashedPrefix } from '../../callbacks/reduce.ts';
import { recordSubject } from '../../callbacks/subjects.ts';
import { headColumns } from '../store/insert-deliveries.ts';
import { keysOf } from '../store/statements/merge-records.ts';

// To whom a callback belongs: the patients that it names. If it names none, those of the callback of its record with the nearest
// earlier version that does, else the next. If its record names none, those of the records that it refers to, by the same rule.
// Erasures, the gate, exports, holds, retention and the access log follow it.

/** A callback without its content. */
export type DeliveryHead = Omit<Delivery, 'body' | 'data'>;

export interface RecordCallback {
  delivery: DeliveryHead;
  isStored: boolean;
  /** The salted hashes of those that it names. */
  patientHashes: string[];
  references: RecordKey[];
}

export type Hash = (subject: string) => string;

export interface Owners {
  /**
   * Reads records, and those that they refer to where their own callbacks do not say whose they are. A record that others refer
   * to refers to none.
   *
   * @returns the callbacks that were not read before
   */
  read: (records: readonly RecordKey[]) => Promise<RecordCallback[]>;
  /** In the order of versions. */
  callbacksOf: (record: RecordKey) => readonly RecordCallback[];
  /** Its own, or by the same rule those of another callback of its record. */
  referencesOf: (callback: RecordCallback) => readonly RecordKey[];
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
  const lists = new Map<string, RecordCallback[]>();
  const callbacksOf = (record: RecordKey) => lists.get(subjectOf(record)) ?? [];
  const readMissing = async (records: readonly RecordKey[]) => {
    const missing = new Map(records.map((record) => [subjectOf(record), record]));
    for (const subject of missing.keys()) if (lists.has(subject)) missing.delete(subject);
    if (missing.size === 0) return [];
    const added = await readCallbacks(client, [...missing.values()], incoming, hash);
    for (const subject of missing.keys()) lists.set(subject, []);
    for (const callback of added) lists.get(subjectOf(callback.delivery))?.push(callback);
    return added;
  };
  const namingOfRecord = (callback: RecordCallback) =>
    nearest(callbacksOf(callback.delivery), callback, namesPatient);
  const referencesOf = (callback: RecordCallback) =>
    nearest(callbacksOf(callback.delivery), callback, refersToOthers)?.references ?? [];
  return {
    callbacksOf,
    referencesOf,
    read: async (records) => {
      const own = await readMissing(records);
      const unclear = own.filter((callback) => !namingOfRecord(callback));
      return [...own, ...(await readMissing(unclear.flatMap(referencesOf)))];
    },
    namingOf: (callback) => {
      const naming = namingOfRecord(callback);
      if (naming) return [naming];
      const ofOthers = referencesOf(callback).map(callbacksOf);
      return ofOthers.flatMap((callbacks) => nearest(callbacks, callback, namesPatient) ?? []);
    },
  };
}

const namesPatient = ({ patientHashes }: RecordCallback) => patientHashes.length > 0;
const refersToOthers = ({ references }: RecordCallback) => references.length > 0;

/** The callback itself, or the nearest of a record: the last one before it, else the next. */
function nearest(
  callbacks: readonly RecordCallback[],
  callback: RecordCallback,
  fits: (other: RecordCallback) => boolean,
): RecordCallback | undefined {
  if (fits(callback)) return callback;
  const { version } = callback.delivery;
  return (
    callbacks.findLast((other) => other.delivery.version < version && fits(other)) ?? callbacks.find(fits)
  );
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

const parseReferences = ({ subjects, businessId }: DeliveryHead): RecordKey[] =>
  subjects.flatMap((subject) => {
    const [, family] = /^r:([^:]*):/.exec(subject) ?? [];
    if (family === undefined) return [];
    return [{ family, businessId, recordId: subject.slice(recordSubject(family, businessId, '').length) }];
  });

/** In the order of versions. */
async function readCallbacks(
  client: pg.ClientBase,
  records: readonly RecordKey[],
  incoming: readonly Delivery[],
  hash: Hash,
): Promise<RecordCallback[]> {
  const { rows } = await client.query<DeliveryHead>(
    `select i.* from unnest($1::text[], $2::text[], $3::text[]) as k(business, record, family)
     cross join lateral (
       select ${headColumns} from receiver.inbox where business_id = k.business and family = k.family and record_id = k.record offset 0
     ) i`,
    [...keysOf(records), records.map(({ family }) => family)],
  );
  const subjects = new Set(records.map(subjectOf));
  const stored = new Set(rows.map(({ id }) => id));
  const others = incoming.filter((delivery) => subjects.has(subjectOf(delivery)) && !stored.has(delivery.id));
  const callbacks = [...rows, ...others].map((delivery) => ({
    delivery,
    isStored: stored.has(delivery.id),
    patientHashes: delivery.subjects.flatMap((subject) => {
      if (subject.startsWith(hashedPrefix)) return [subject.slice(hashedPrefix.length)];
      return subject.startsWith('p:') ? [hash(subject)] : [];
    }),
    references: parseReferences(delivery),
  }));
  return callbacks.sort((a, b) => (a.delivery.version < b.delivery.version ? -1 : 1));
}
