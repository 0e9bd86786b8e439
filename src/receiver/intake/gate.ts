import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type pg from 'pg';
import { uuidV8 } from '../../common/uuid.ts';
import type { AnyCallback } from '../families/callback.ts';
import { type Family, hasPersonalKey } from '../families/family.ts';
import { recordSubject } from '../families/subjects.ts';
import { inTransaction } from '../store/pools.ts';
import { canonicalJson } from './canonical-json.ts';
import { withDecimals } from './decimal.ts';
import { type Delivery, storedColumns } from './delivery.ts';
import { versionWith } from './identify.ts';
import { insertUngated, toJsonb } from './insert.ts';

/** A record of which callbacks may have to be reduced. */
export interface RecordKey {
  family: string;
  businessId: string;
  recordId: string;
}

interface Known {
  delivery: Delivery;
  /** Whether it is a row of inbox. */
  isStored: boolean;
  isReduced: boolean;
  /** The salted hashes of the patients that it names. */
  names: string[];
}

interface Erased {
  /** In milliseconds; Infinity: for ever; -Infinity: the record has reduced callbacks, and names others too. */
  until: number;
  erasure: string;
}

/** Among the subjects of a callback that was reduced. */
const reducedMark = 'reduced';
export const isReduced = ({ subjects }: Pick<Delivery, 'subjects'>) => subjects.includes(reducedMark);
/** A salted hash of a patient, among the subjects of a reduced callback. */
const hashedPrefix = 'e:';

const frozenMs = 5_000;

/**
 * SQL of the first message of a transaction that changes the gate. All inserts wait meanwhile, so PostgreSQL ends the session of
 * a process that is frozen.
 *
 * @param timeoutMs of each of its statements, and of its waits for locks
 */
export const gateLock = (timeoutMs: number): string =>
  `set local statement_timeout = ${timeoutMs}; set local lock_timeout = ${timeoutMs};
   set local idle_in_transaction_session_timeout = ${frozenMs}; set local tcp_user_timeout = ${frozenMs};
   lock table receiver.erased in exclusive mode`;

/**
 * Stores deliveries that may concern an erasure: reduced, where they do. It holds the gate's table meanwhile, which every
 * insert takes in share mode.
 *
 * @returns the ids of those that were received before
 * @throws the database's error; then none is stored
 */
export async function storeGated(
  pool: pg.Pool,
  families: readonly Family[],
  deliveries: readonly Delivery[],
  timeoutMs: number,
): Promise<Set<string>> {
  const first = `${gateLock(timeoutMs)}; set local synchronous_commit = on`;
  return inTransaction(pool, first, async (client) => {
    const { duplicates } = await applyGate(client, families, deliveries, []);
    return duplicates;
  });
}

/** A callback that has to be reduced. */
export interface Reduction extends Pick<Known, 'delivery' | 'isStored' | 'names'> {
  record: RecordKey;
  erasure: string;
}

/** What is known of the gate's table. */
interface Gate {
  hash: (subject: string) => string;
  erased: Map<string, Erased>;
  /** Reads what the table has of these hashes. */
  look: (hashes: readonly string[]) => Promise<void>;
}

async function openGate(client: pg.ClientBase): Promise<Gate> {
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
 * Finds the stored callbacks that belong to a patient: those that name one of its subjects, and by the rule of `applyGate`
 * those that name nobody. Those that were reduced belong to nobody.
 *
 * @param client in a transaction with one snapshot
 */
export async function findCallbacks(
  client: pg.ClientBase,
  subjects: readonly string[],
): Promise<Reduction[]> {
  const { hash, erased } = await openGate(client);
  for (const subject of subjects) erased.set(hash(subject), { until: Number.POSITIVE_INFINITY, erasure: '' });
  const { rows } = await client.query<RecordKey>(
    `select distinct family, business_id as "businessId", record_id as "recordId" from receiver.inbox where subjects && $1`,
    [subjects],
  );
  return findReductions(client, { hash, erased, look: async () => {} }, [], rows);
}

/**
 * Reduces what belongs to people who were erased: of new deliveries, which it stores, and of the callbacks of records, with
 * whatever only refers to them. A callback that names nobody belongs to whom the nearest earlier version of its record
 * names, else the next; one whose record names nobody, to the patients of the records that it refers to.
 *
 * @param client in a transaction that has an exclusive lock of `receiver.erased`
 * @returns `duplicates`: ids of new deliveries that were received before; `reductions`; `removed`: records that have lost a
 *   callback as a whole, to be merged by their keys. All others have pending deliveries
 * @throws the database's error
 */
export async function applyGate(
  client: pg.ClientBase,
  families: readonly Family[],
  incoming: readonly Delivery[],
  records: readonly RecordKey[],
) {
  const gate = await openGate(client);
  const { hash, erased, look } = gate;
  await look(incoming.map(({ id }) => hash(`d:${id}`)));
  const stored = await client.query<{ id: string }>(
    'select id from receiver.inbox where id = any($1::uuid[])',
    [incoming.map(({ id }) => id)],
  );
  const duplicates = new Set([
    ...stored.rows.map(({ id }) => id),
    ...incoming.map(({ id }) => id).filter((id) => erased.has(hash(`d:${id}`))),
  ]);
  const fresh = incoming.filter(({ id }) => !duplicates.has(id));
  const reductions = await findReductions(client, gate, fresh, records);
  await recordReductions(client, hash, reductions);

  const isWhole = ({ record }: Reduction) => {
    const family = families.find(({ name }) => name === record.family);
    return family !== undefined && hasPersonalKey(family);
  };
  const reduced = reductions
    .filter((one) => !isWhole(one))
    .map(({ delivery, names, record, ...rest }) => {
      const family = families.find(({ name }) => name === record.family);
      return { ...rest, original: delivery, delivery: reduce(delivery, family, names) };
    });
  const newIds = new Map(reduced.map(({ original, delivery }) => [original.id, delivery.id]));
  await withhold(
    client,
    reductions.filter((one) => one.isStored || isWhole(one)),
    newIds,
  );
  const replaced = reductions.filter(({ isStored }) => isStored).map(({ delivery }) => delivery.id);
  if (replaced.length > 0) await client.query(removal, [replaced]);
  const taken = new Set(reductions.map(({ delivery }) => delivery));
  const toStore = [
    ...fresh.filter((delivery) => !taken.has(delivery)),
    ...reduced.map(({ delivery }) => delivery),
  ];
  if (toStore.length > 0)
    await client.query(insertUngated, [toJsonb(toStore.map((delivery) => ({ delivery, copies: 1 })))]);
  return { duplicates, reductions, removed: reductions.filter(isWhole).map(({ record }) => record) };
}

/** The callbacks of records, and of those that refer to them, which belong to somebody of the gate. */
async function findReductions(
  client: pg.ClientBase,
  { hash, erased, look }: Gate,
  incoming: readonly Delivery[],
  records: readonly RecordKey[],
): Promise<Reduction[]> {
  const found: Reduction[] = [];
  const waiting = new Map<string, RecordKey>();
  for (const one of [...incoming, ...records]) waiting.set(subjectOf(one), one);
  const visited = new Set<string>();
  while (waiting.size > 0) {
    const [subject, record] = waiting.entries().next().value!;
    waiting.delete(subject);
    visited.add(subject);
    const list = await readRecord(client, record, incoming, hash);
    await look([
      hash(subject),
      ...list.flatMap(({ names, delivery }) => [...names, ...referencesOf(delivery).map(hash)]),
    ]);
    const reducible = findReducible(list, erased, hash, subject);
    if (reducible.length === 0) continue;
    found.push(...reducible.map(({ known, erasure }) => ({ ...known, record, erasure })));
    // What refers to it has to find it among the erased.
    const { erasure } = reducible[0]!;
    if (!erased.has(hash(subject))) erased.set(hash(subject), { until: Number.NEGATIVE_INFINITY, erasure });
    for (const one of await referringTo(client, subject, incoming))
      if (!visited.has(subjectOf(one))) waiting.set(subjectOf(one), one);
  }
  return found;
}

/** Resent originals are duplicates, and records with reduced callbacks are looked at with each new one. */
async function recordReductions(
  client: pg.ClientBase,
  hash: Gate['hash'],
  reductions: readonly Reduction[],
): Promise<void> {
  const added = new Map<string, [until: string, erasure: string]>();
  for (const { delivery, record, erasure } of reductions) {
    added.set(hash(`d:${delivery.id}`), ['infinity', erasure]);
    const ofRecord = hash(subjectOf(record));
    if (!added.has(ofRecord)) added.set(ofRecord, ['-infinity', erasure]);
  }
  const values = [...added.values()];
  await client.query(
    `insert into receiver.erased (hash, until, erasure)
     select * from unnest($1::text[], $2::timestamptz[], $3::uuid[]) on conflict do nothing`,
    [[...added.keys()], values.map(([until]) => until), values.map(([, erasure]) => erasure)],
  );
}

export const subjectOf = ({ family, businessId, recordId }: RecordKey) =>
  recordSubject(family, businessId, recordId);
const referencesOf = ({ subjects }: Delivery) => subjects.filter((subject) => subject.startsWith('r:'));

/** The callbacks of a record that have to be reduced, with the erasure of each. */
function findReducible(
  list: readonly Known[],
  erased: ReadonlyMap<string, Erased>,
  hash: (subject: string) => string,
  record: string,
): { known: Known; erasure: string }[] {
  const ofRecord = erased.get(hash(record));
  const isForever = ofRecord?.until === Number.POSITIVE_INFINITY;
  const byName = ({ names, delivery }: Known, eventMs = delivery.eventMs) =>
    names.map((name) => erased.get(name)).find((one) => one && (isForever || eventMs <= one.until));
  const named = list.filter(({ names }) => names.length > 0);
  const found = new Map<Known, string>();
  for (const known of named) {
    const entry = known.isReduced ? undefined : byName(known);
    if (entry) found.set(known, entry.erasure);
  }
  for (const known of list) {
    if (known.isReduced || known.names.length > 0) continue;
    const { version, eventMs } = known.delivery;
    const nearest =
      named.findLast(({ delivery }) => delivery.version < version) ??
      named.find(({ delivery }) => delivery.version > version);
    const entry = nearest
      ? nearest.isReduced || found.has(nearest)
        ? nearest.names.map((name) => erased.get(name)).find(Boolean)
        : byName(nearest, eventMs)
      : ((isForever ? ofRecord : undefined) ??
        referencesOf(known.delivery)
          .map((one) => erased.get(hash(one)))
          .find(Boolean));
    if (entry) found.set(known, entry.erasure);
  }
  return [...found].map(([known, erasure]) => ({ known, erasure }));
}

/** The callbacks of a record in the order of their versions, with those that are to be stored. */
async function readRecord(
  client: pg.ClientBase,
  { family, businessId, recordId }: RecordKey,
  incoming: readonly Delivery[],
  hash: (subject: string) => string,
): Promise<Known[]> {
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
    delivery,
    isStored,
    isReduced: isReduced(delivery),
    names: delivery.subjects.flatMap((subject) => {
      if (subject.startsWith(hashedPrefix)) return [subject.slice(hashedPrefix.length)];
      return subject.startsWith('p:') ? [hash(subject)] : [];
    }),
  });
  return [...stored.map((one) => known(one, true)), ...own.map((one) => known(one, false))].sort((a, b) =>
    a.delivery.version < b.delivery.version ? -1 : 1,
  );
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

/** The members of the envelope that cannot identify a patient. */
const publicMembers = new Set([
  'event',
  'event_type',
  'event_time',
  'timestamp',
  'client_id',
  'business_id',
  'service',
]);

/**
 * A callback without what is personal: each personal key becomes null, because without the key an earlier person would come
 * back. Unknown keys count as personal, and so do `transaction_id`, `partition_id` and the data of unknown events. It has a
 * new id, and goes on naming by salted hashes.
 *
 * @param names the salted hashes of those that it names
 */
export function reduce(delivery: Delivery, family: Family | undefined, names: readonly string[]): Delivery {
  const fields = new Map(
    Object.entries(family?.fields ?? {}).flatMap(([name, field]) =>
      [name, field.alias ?? []].flat().map((one) => [one, field] as const),
    ),
  );
  const reduceData = (data: Record<string, unknown>) =>
    mapValues(data, (key, value) => (fields.get(key)?.personal === false ? value : null));
  const parse = (json: string) => withDecimals(json, JSON.parse(json)) as Record<string, unknown>;
  const envelope = parse(delivery.body.toString()) as unknown as AnyCallback;
  const reduced = mapValues(envelope, (key, value) => {
    if (key === 'data') return reduceData(envelope.data);
    return publicMembers.has(key) ? value : null;
  });
  const id = uuidV8(delivery.id.slice(0, 13).replace('-', ''), randomBytes(10).toString('hex'));
  return {
    ...delivery,
    id,
    recordId: delivery.recordId === delivery.id ? id : delivery.recordId,
    version: versionWith(delivery.version, id),
    subjects: [
      reducedMark,
      ...new Set(names.map((name) => hashedPrefix + name)),
      ...delivery.subjects.filter((subject) => subject.startsWith('r:')),
    ],
    body: Buffer.from(canonicalJson(reduced)),
    data: delivery.data === null ? null : canonicalJson(reduceData(parse(delivery.data))),
  };
}

const mapValues = (from: object, map: (key: string, value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(from).map(([key, value]) => [key, map(key, value)]));

/** @param newIds of the callbacks that stay, reduced */
async function withhold(
  client: pg.ClientBase,
  reductions: readonly Reduction[],
  newIds: ReadonlyMap<string, string>,
): Promise<void> {
  const rows = reductions.map(({ delivery, erasure }) => {
    const { body, data, ...rest } = delivery;
    const text = `{"delivery":${JSON.stringify(rest)},"envelope":${body},"data":${data ?? 'null'}}`;
    return { id: newIds.get(delivery.id) ?? randomUUID(), erasure, text, receivedUs: delivery.receivedAt };
  });
  if (rows.length === 0) return;
  await client.query(
    `insert into receiver.withheld (id, erasure, delivery, received_at)
     select id, erasure, delivery, timestamptz 'epoch' + us * interval '1 microsecond'
     from unnest($1::uuid[], $2::uuid[], $3::jsonb[], $4::float8[]) as w(id, erasure, delivery, us)`,
    [
      rows.map(({ id }) => id),
      rows.map(({ erasure }) => erasure),
      rows.map(({ text }) => text),
      rows.map(({ receivedUs }) => receivedUs),
    ],
  );
}

const removal = `
with pending as (delete from receiver.pending_deliveries where id = any($1::uuid[])),
     resent as (delete from receiver.resends where id = any($1::uuid[]))
delete from receiver.inbox where id = any($1::uuid[])`;
