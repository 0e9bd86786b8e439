import type pg from 'pg';
import type { Delivery, RecordKey } from '../../callbacks/delivery.ts';
import { isReduced, reducedMark } from '../../callbacks/reduce.ts';
import { type Hash, type Owners, openHash, openOwners, type RecordCallback, subjectOf } from './owners.ts';

export interface Reduction extends RecordCallback {
  /** The salted hashes of the patients to whom it belongs. */
  ownerHashes: string[];
  erasure: string;
}

interface GateEntry {
  /** In milliseconds; Infinity: for ever; -Infinity: the record has reduced callbacks, and names others too. */
  until: number;
  erasure: string;
}

export interface Gate {
  hash: Hash;
  erased: Map<string, GateEntry>;
  read: (hashes: readonly string[]) => Promise<void>;
}

export async function openGate(client: pg.ClientBase): Promise<Gate> {
  const erased = new Map<string, GateEntry>();
  return {
    hash: await openHash(client),
    erased,
    read: async (hashes) => {
      const { rows } = await client.query<{ hash: string; until: string; erasure: string }>(
        `select hash, extract(epoch from until) * 1000 as until, erasure from receiver.erased where hash = any($1)`,
        [hashes],
      );
      for (const { hash, until, erasure } of rows) erased.set(hash, { until: Number(until), erasure });
    },
  };
}

/** The stored callbacks that belong to a patient; reduced ones belong to nobody. @param client in a transaction with one snapshot */
export async function findCallbacks(
  client: pg.ClientBase,
  subjects: readonly string[],
): Promise<{ callbacks: Reduction[]; isOfPatient: (ownerHash: string) => boolean }> {
  const hash = await openHash(client);
  const entry = { until: Number.POSITIVE_INFINITY, erasure: '' };
  const erased = new Map(subjects.map((subject) => [hash(subject), entry]));
  const { rows } = await client.query<RecordKey>(
    `select distinct family, business_id as "businessId", record_id as "recordId" from receiver.callbacks_with($1)`,
    [subjects],
  );
  const callbacks = await findReductions(client, { hash, erased, read: async () => {} }, [], rows);
  return { callbacks, isOfPatient: (ownerHash) => erased.has(ownerHash) };
}

/** The callbacks of records, and behind them of those that refer to them, which belong to people of the gate. */
export async function findReductions(
  client: pg.ClientBase,
  gate: Gate,
  incoming: readonly Delivery[],
  records: readonly RecordKey[],
): Promise<Reduction[]> {
  const owners = openOwners(client, gate.hash, incoming);
  const reductions = new Map<RecordCallback, Reduction>();
  const reduceRecords = async (keys: readonly RecordKey[]) => {
    const hashes = (await owners.read(keys)).flatMap(({ patientHashes, delivery, references }) => [
      ...patientHashes,
      ...[`d:${delivery.id}`, ...[delivery, ...references].map(subjectOf)].map(gate.hash),
    ]);
    if (hashes.length > 0) await gate.read([...new Set(hashes)]);
    for (const record of keys) {
      const open = owners
        .callbacksOf(record)
        .filter((one) => !isReduced(one.delivery) && !reductions.has(one));
      // Those that name a patient first: the others may belong to the same one.
      for (const callback of open.toSorted((a, b) => b.patientHashes.length - a.patientHashes.length)) {
        const reduction = reductionOf(callback, owners, gate, reductions);
        if (reduction) reductions.set(callback, reduction);
      }
    }
  };
  await reduceRecords([...incoming, ...records]);
  const changed = new Set(Array.from(reductions.keys(), ({ delivery }) => subjectOf(delivery)));
  await reduceRecords(await recordsReferringTo(client, changed, incoming));
  return [...reductions.values()];
}

function reductionOf(
  callback: RecordCallback,
  owners: Owners,
  { hash, erased }: Gate,
  reductions: ReadonlyMap<RecordCallback, Reduction>,
): Reduction | undefined {
  const { delivery } = callback;
  const ofRecord = (record: RecordKey) => erased.get(hash(subjectOf(record)));
  const isForever = (entry: GateEntry | undefined) => entry?.until === Number.POSITIVE_INFINITY;
  const byName = (naming: RecordCallback) => {
    const isAnyTime =
      isReduced(naming.delivery) || reductions.has(naming) || isForever(ofRecord(naming.delivery));
    const entries = naming.patientHashes.flatMap((patient) => erased.get(patient) ?? []);
    return entries.find(({ until }) => isAnyTime || delivery.eventMs <= until);
  };
  const naming = owners.namingOf(callback);
  const entry =
    // By a person's word, or a restored backup has brought it back.
    erased.get(hash(`d:${delivery.id}`)) ??
    (naming.length > 0
      ? naming.map(byName).find(Boolean)
      : [delivery, ...owners.referencesOf(callback)].map(ofRecord).find(isForever));
  const ownerHashes = naming.flatMap(({ patientHashes }) => patientHashes);
  return entry && { ...callback, ownerHashes, erasure: entry.erasure };
}

async function recordsReferringTo(
  client: pg.ClientBase,
  recordSubjects: ReadonlySet<string>,
  incoming: readonly Delivery[],
): Promise<RecordKey[]> {
  if (recordSubjects.size === 0) return [];
  const { rows } = await client.query<RecordKey>(
    `select distinct family, business_id as "businessId", record_id as "recordId" from receiver.callbacks_with($1)
     where not '${reducedMark}' = any(subjects)`,
    [[...recordSubjects]],
  );
  return [...rows, ...incoming.filter(({ subjects }) => subjects.some((one) => recordSubjects.has(one)))];
}
