import { createHash } from 'node:crypto';
import type pg from 'pg';
import { recordSubject } from '../families/subjects.ts';
import { type Delivery, storedColumns } from './delivery.ts';

/** A record of which callbacks may have to be reduced. */
export interface RecordKey {
  family: string;
  businessId: string;
  recordId: string;
}

/** A callback that has to be reduced. */
export interface Reduction {
  delivery: Delivery;
  /** Whether it is a row of inbox. */
  isStored: boolean;
  record: RecordKey;
  /** The salted hashes of the patients that it names. */
  names: string[];
  /** Those of the patients to whom it belongs: `names`; of a callback that names nobody, those of another one. */
  owners: string[];
  erasure: string;
}

/** A callback of a record. */
interface Known extends Pick<Reduction, 'delivery' | 'isStored' | 'names'> {
  isReduced: boolean;
  record: RecordKey;
  /** Where it names nobody: the callback of its record with the nearest earlier version that does, else the next. */
  nearest: Known | undefined;
}

interface Erased {
  /** In milliseconds; Infinity: for ever; -Infinity: the record has reduced callbacks, and names others too. */
  until: number;
  erasure: string;
}

/** What is known of the gate's table. */
export interface Gate {
  hash: (subject: string) => string;
  erased: Map<string, Erased>;
  /** Reads what the table has of these hashes. */
  look: (hashes: readonly string[]) => Promise<void>;
}

/** Among the subjects of a callback that was reduced. */
export const reducedMark = 'reduced';
export const isReduced = ({ subjects }: Pick<Delivery, 'subjects'>) => subjects.includes(reducedMark);
/** A salted hash of a patient, among the subjects of a reduced callback. */
export const hashedPrefix = 'e:';

export const subjectOf = ({ family, businessId, recordId }: RecordKey) =>
  recordSubject(family, businessId, recordId);

export async function openGate(client: pg.ClientBase): Promise<Gate> {
  const { rows } = await client.query<{ value: string }>(
    `select value from receiver.settings where name = 'salt'`,
  );
  const salt = rows[0]!.value;
  const erased = new Map<string, Erased>();
  return {
    hash: (subject) =>
      createHash('sha256')
        .update(salt + subject)
        .digest('hex'),
    erased,
    look: async (hashes) => {
      const found = await client.query<{ hash: string; until: number | null; erasure: string }>(
        `select hash, (extract(epoch from until) * 1000)::float8 as until, erasure from receiver.erased where hash = any($1)`,
        [hashes],
      );
      for (const { hash, until, erasure } of found.rows) erased.set(hash, { until: Number(until), erasure });
    },
  };
}

/**
 * Finds the stored callbacks that belong to a patient: those that name one of its subjects, and by the rule of
 * `findReductions` those that name nobody. Those that were reduced belong to nobody.
 *
 * @param client in a transaction with one snapshot
 * @param isOfPatient of an owner's salted hash
 */
export async function findCallbacks(
  client: pg.ClientBase,
  subjects: readonly string[],
): Promise<{ found: Reduction[]; isOfPatient: (owner: string) => boolean }> {
  const { hash, erased } = await openGate(client);
  for (const subject of subjects) erased.set(hash(subject), { until: Number.POSITIVE_INFINITY, erasure: '' });
  const { rows } = await client.query<RecordKey>(
    `select distinct family, business_id as "businessId", record_id as "recordId" from receiver.inbox where subjects && $1`,
    [subjects],
  );
  const found = await findReductions(client, { hash, erased, look: async () => {} }, [], rows);
  return { found, isOfPatient: (owner) => erased.has(owner) };
}

/**
 * The callbacks of records, and of those that refer to them, which belong to somebody of the gate. A callback that names
 * nobody belongs to whom the nearest earlier version of its record names, else the next; one whose record names nobody, to
 * whom the record that it refers to names, by the same rule.
 *
 * @returns what refers to a record comes behind it
 */
export async function findReductions(
  client: pg.ClientBase,
  { hash, erased, look }: Gate,
  incoming: readonly Delivery[],
  records: readonly RecordKey[],
): Promise<Reduction[]> {
  const lists = new Map<string, Known[]>();
  const found = new Map<Known, Reduction>();

  const listOf = async (record: RecordKey): Promise<Known[]> => {
    const subject = subjectOf(record);
    const known = lists.get(subject);
    if (known) return known;
    const list = await readRecord(client, record, incoming, hash);
    lists.set(subject, list);
    const own = list.flatMap(({ names, delivery }) => [...names, hash(`d:${delivery.id}`)]);
    await look([hash(subject), ...own]);
    return list;
  };

  const isForever = (record: RecordKey) =>
    erased.get(hash(subjectOf(record)))?.until === Number.POSITIVE_INFINITY;
  const byName = ({ names, record }: Known, eventMs: number) =>
    names.map((name) => erased.get(name)).find((one) => one && (isForever(record) || eventMs <= one.until));

  /** The callbacks of the records that this one refers to which say whose it is. */
  const namingReferred = async (one: Known, seen = new Set<string>()): Promise<Known[]> => {
    const naming: Known[] = [];
    for (const record of referencesOf(one.delivery)) {
      const subject = subjectOf(record);
      if (seen.has(subject)) continue;
      seen.add(subject);
      const list = await listOf(record);
      const nearest = nearestNaming(list, one.delivery.version);
      if (nearest) naming.push(nearest);
      else for (const further of list) naming.push(...(await namingReferred(further, seen)));
    }
    return naming;
  };

  const reductionOf = async (known: Known): Promise<Reduction | undefined> => {
    const { delivery, names, nearest, record } = known;
    const reduction = (entry: Erased | undefined, owners: string[]) =>
      entry && { ...known, owners, erasure: entry.erasure };
    // By a person's word, or a restored backup has brought it back.
    const itself = erased.get(hash(`d:${delivery.id}`));
    if (itself) return reduction(itself, names);
    if (names.length > 0) return reduction(byName(known, delivery.eventMs), names);
    const naming = nearest ? [nearest] : await namingReferred(known);
    if (naming.length === 0) {
      const gone = [record, ...referencesOf(delivery)].find(isForever);
      return reduction(gone && erased.get(hash(subjectOf(gone))), []);
    }
    const entryOf = (one: Known) =>
      one.isReduced || found.has(one)
        ? one.names.map((name) => erased.get(name)).find(Boolean)
        : byName(one, delivery.eventMs);
    const owners = naming.flatMap((one) => one.names);
    return reduction(naming.map(entryOf).find(Boolean), owners);
  };

  const waiting = new Map<string, RecordKey>();
  for (const one of [...incoming, ...records]) waiting.set(subjectOf(one), one);
  while (waiting.size > 0) {
    const [subject, record] = waiting.entries().next().value!;
    waiting.delete(subject);
    const list = (await listOf(record)).filter((one) => !one.isReduced && !found.has(one));
    if (list.length > 0)
      await look(list.flatMap(({ delivery }) => referencesOf(delivery).map((one) => hash(subjectOf(one)))));
    const before = found.size;
    const isNaming = ({ names }: Known) => names.length > 0;
    // Whether the others belong to somebody may depend on these.
    for (const known of [...list.filter(isNaming), ...list.filter((one) => !isNaming(one))]) {
      const reduction = await reductionOf(known);
      if (reduction) found.set(known, reduction);
    }
    if (found.size === before) continue;
    for (const one of await referringTo(client, subject, incoming)) waiting.set(subjectOf(one), one);
  }
  return [...found.values()];
}

const nearestNaming = (list: readonly Known[], version: string): Known | undefined => {
  const named = list.filter(({ names }) => names.length > 0);
  return (
    named.findLast(({ delivery }) => delivery.version < version) ??
    named.find(({ delivery }) => delivery.version > version)
  );
};

/** The records that a callback refers to: of its business. */
function referencesOf({ subjects, businessId }: Delivery): RecordKey[] {
  return subjects.flatMap((subject) => {
    const [, family] = /^r:([^:]*):/.exec(subject) ?? [];
    if (family === undefined) return [];
    return [{ family, businessId, recordId: subject.slice(recordSubject(family, businessId, '').length) }];
  });
}

/** The callbacks of a record in the order of their versions, with those that are to be stored. */
async function readRecord(
  client: pg.ClientBase,
  record: RecordKey,
  incoming: readonly Delivery[],
  hash: (subject: string) => string,
): Promise<Known[]> {
  const { family, businessId, recordId } = record;
  const { rows: stored } = await client.query<Delivery>(
    `select ${storedColumns} from receiver.inbox where business_id = $1 and family = $2 and record_id = $3`,
    [businessId, family, recordId],
  );
  const ids = new Set(stored.map(({ id }) => id));
  const own = incoming.filter(
    (one) =>
      one.family === family && one.businessId === businessId && one.recordId === recordId && !ids.has(one.id),
  );
  const known = (delivery: Delivery, isStored: boolean): Known => ({
    ...{ delivery, isStored, record, isReduced: isReduced(delivery), nearest: undefined },
    names: delivery.subjects.flatMap((subject) => {
      if (subject.startsWith(hashedPrefix)) return [subject.slice(hashedPrefix.length)];
      return subject.startsWith('p:') ? [hash(subject)] : [];
    }),
  });
  const list = [...stored.map((one) => known(one, true)), ...own.map((one) => known(one, false))].sort(
    (a, b) => (a.delivery.version < b.delivery.version ? -1 : 1),
  );
  let nearest = list.find(({ names }) => names.length > 0);
  for (const one of list) {
    if (one.names.length > 0) nearest = one;
    else one.nearest = nearest;
  }
  return list;
}

/** The records whose callbacks refer to one. */
async function referringTo(
  client: pg.ClientBase,
  subject: string,
  incoming: readonly Delivery[],
): Promise<RecordKey[]> {
  const { rows } = await client.query<RecordKey>(
    `select distinct family, business_id as "businessId", record_id as "recordId" from receiver.inbox
     where subjects @> array[$1]`,
    [subject],
  );
  return [...rows, ...incoming.filter(({ subjects }) => subjects.includes(subject))];
}
