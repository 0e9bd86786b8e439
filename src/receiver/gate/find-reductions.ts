import { createHash } from 'node:crypto';
import type pg from 'pg';
import { type Delivery, keysOf, type RecordKey } from '../../callbacks/delivery.ts';
import { hashedPrefix, isReduced, reducedMark } from '../../callbacks/reduce.ts';
import { recordSubject } from '../../callbacks/subjects.ts';
import { storedColumns } from '../store/insert-deliveries.ts';

/** A callback without its content. */
type Head = Omit<Delivery, 'body' | 'data'>;

/** A callback that has to be reduced. */
export interface Reduction {
  delivery: Head;
  /** Whether it is a row of inbox. */
  isStored: boolean;
  /** About the bytes of a stored one. */
  size: number;
  record: RecordKey;
  /** The salted hashes of the patients that it names. */
  names: string[];
  /** Those of the patients to whom it belongs: `names`; of a callback that names nobody, those of another one. */
  owners: string[];
  erasure: string;
}

/** A callback of a record. */
interface Known extends Omit<Reduction, 'owners' | 'erasure'> {
  isReduced: boolean;
  /** Where it names nobody: the callback of its record with the nearest earlier version that does, else the next. */
  nearest: Known | undefined;
  /** The records that it refers to, or by the same rule another callback of its record. */
  references: RecordKey[];
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
      const found = await client.query<{ hash: string; until: string; erasure: string }>(
        `select hash, extract(epoch from until) * 1000 as until, erasure from receiver.erased where hash = any($1)`,
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

/** Stored callbacks with their content, by id. */
export async function readStored(
  client: pg.ClientBase,
  ids: readonly string[],
): Promise<Map<string, Delivery>> {
  const { rows } = await client.query<Delivery>(
    `select ${storedColumns} from receiver.inbox where id = any($1::uuid[])`,
    [ids],
  );
  return new Map(rows.map((one) => [one.id, one]));
}

/** Records that are read at once. */
const maxRecords = 500;

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

  const read = async (wanted: readonly RecordKey[]): Promise<void> => {
    const missing = new Map(wanted.map((record) => [subjectOf(record), record]));
    for (const subject of lists.keys()) missing.delete(subject);
    if (missing.size === 0) return;
    const known = await readRecords(client, [...missing.values()], incoming, hash);
    for (const [subject, list] of known) lists.set(subject, list);
    const own = [...known.values()].flat();
    await look([
      ...[...missing.keys()].map(hash),
      ...own.flatMap(({ names, delivery }) => [...names, hash(`d:${delivery.id}`)]),
    ]);
  };
  /** Reads the records that say whose these callbacks are. */
  const readReferred = async (unnamed: readonly Known[]): Promise<void> => {
    let records = unnamed.filter(({ nearest }) => !nearest).flatMap(({ references }) => references);
    while (records.length > 0) {
      const isNew = records.filter((record) => !lists.has(subjectOf(record)));
      await read(isNew);
      records = isNew
        .flatMap((record) => lists.get(subjectOf(record))!)
        .filter(({ names, nearest }) => names.length === 0 && !nearest)
        .flatMap(({ references }) => references);
    }
  };

  const isForever = (record: RecordKey) =>
    erased.get(hash(subjectOf(record)))?.until === Number.POSITIVE_INFINITY;
  const byName = ({ names, record }: Known, eventMs: number) =>
    names.map((name) => erased.get(name)).find((one) => one && (isForever(record) || eventMs <= one.until));

  /** The callbacks of the records that this one refers to which say whose it is. */
  const namingReferred = ({ references }: Known, version: string, seen = new Set<string>()): Known[] =>
    references.flatMap((record) => {
      const subject = subjectOf(record);
      if (seen.has(subject)) return [];
      seen.add(subject);
      const list = lists.get(subject) ?? [];
      const nearest = nearestNaming(list, version);
      return nearest ? [nearest] : list.flatMap((further) => namingReferred(further, version, seen));
    });

  const reductionOf = (known: Known): Reduction | undefined => {
    const { delivery, names, nearest, record, references } = known;
    const reduction = (entry: Erased | undefined, owners: string[]) =>
      entry && { ...known, owners, erasure: entry.erasure };
    // By a person's word, or a restored backup has brought it back.
    const itself = erased.get(hash(`d:${delivery.id}`));
    if (itself) return reduction(itself, names);
    if (names.length > 0) return reduction(byName(known, delivery.eventMs), names);
    const naming = nearest ? [nearest] : namingReferred(known, delivery.version);
    if (naming.length === 0) {
      const gone = [record, ...references].find(isForever);
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
    const wave = [...waiting].slice(0, maxRecords);
    for (const [subject] of wave) waiting.delete(subject);
    await read(wave.map(([, record]) => record));
    const open = wave.map(([subject]) => ({
      subject,
      list: lists.get(subject)!.filter((one) => !one.isReduced && !found.has(one)),
    }));
    await readReferred(open.flatMap(({ list }) => list.filter(({ names }) => names.length === 0)));
    const changed = open.filter(({ list }) => {
      const before = found.size;
      // Whether the others belong to somebody may depend on these.
      for (const isNaming of [true, false])
        for (const known of list) {
          const reduction = known.names.length > 0 === isNaming ? reductionOf(known) : undefined;
          if (reduction) found.set(known, reduction);
        }
      return found.size > before;
    });
    const subjects = changed.map(({ subject }) => subject);
    for (const one of await referringTo(client, subjects, incoming)) waiting.set(subjectOf(one), one);
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
function referencesOf({ subjects, businessId }: Head): RecordKey[] {
  return subjects.flatMap((subject) => {
    const [, family] = /^r:([^:]*):/.exec(subject) ?? [];
    if (family === undefined) return [];
    return [{ family, businessId, recordId: subject.slice(recordSubject(family, businessId, '').length) }];
  });
}

const heads = `id, family, event, client_id as "clientId", business_id as "businessId", record_id as "recordId", version,
  to_jsonb(extract(epoch from event_time) * 1000) as "eventMs", subjects,
  to_jsonb(extract(epoch from received_at) * 1000000) as "receivedAt", pg_column_size(envelope) as size`;

/** The callbacks of records in the order of their versions, with those that are to be stored; by the records' subjects. */
async function readRecords(
  client: pg.ClientBase,
  records: readonly RecordKey[],
  incoming: readonly Delivery[],
  hash: (subject: string) => string,
): Promise<Map<string, Known[]>> {
  const { rows } = await client.query<Head & { size: number }>(
    `select i.* from unnest($1::text[], $2::text[], $3::text[]) as k(business, record, family)
     cross join lateral (
       select ${heads} from receiver.inbox where business_id = k.business and family = k.family and record_id = k.record offset 0
     ) i`,
    [...keysOf(records), records.map(({ family }) => family)],
  );
  const stored = new Set(rows.map(({ id }) => id));
  const lists = new Map(records.map((record) => [subjectOf(record), { record, list: [] as Known[] }]));
  const add = (delivery: Head, isStored: boolean, size: number) => {
    const of = lists.get(subjectOf(delivery));
    if (!of) return;
    const names = delivery.subjects.flatMap((subject) => {
      if (subject.startsWith(hashedPrefix)) return [subject.slice(hashedPrefix.length)];
      return subject.startsWith('p:') ? [hash(subject)] : [];
    });
    const isGone = isReduced(delivery);
    const { record } = of;
    of.list.push({
      ...{ delivery, isStored, size, record, names, isReduced: isGone, nearest: undefined, references: [] },
    });
  };
  for (const { size, ...head } of rows) add(head, true, size);
  for (const one of incoming) if (!stored.has(one.id)) add(one, false, 0);
  for (const { list } of lists.values()) {
    list.sort((a, b) => (a.delivery.version < b.delivery.version ? -1 : 1));
    let nearest = list.find(({ names }) => names.length > 0);
    let references = list.map(({ delivery }) => referencesOf(delivery)).find((some) => some.length > 0) ?? [];
    for (const one of list) {
      if (one.names.length > 0) nearest = one;
      else one.nearest = nearest;
      const own = referencesOf(one.delivery);
      if (own.length > 0) references = own;
      one.references = references;
    }
  }
  return new Map([...lists].map(([subject, { list }]) => [subject, list]));
}

/** The records with callbacks that refer to one of these and are not reduced yet. */
async function referringTo(
  client: pg.ClientBase,
  referred: readonly string[],
  incoming: readonly Delivery[],
): Promise<RecordKey[]> {
  if (referred.length === 0) return [];
  const { rows } = await client.query<RecordKey>(
    `select distinct family, business_id as "businessId", record_id as "recordId" from receiver.inbox
     where subjects && $1::text[] and not '${reducedMark}' = any(subjects)`,
    [referred],
  );
  const wanted = new Set(referred);
  return [...rows, ...incoming.filter(({ subjects }) => subjects.some((one) => wanted.has(one)))];
}
