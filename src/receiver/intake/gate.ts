import { createHash, randomBytes } from 'node:crypto';
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
  const settings = `set local statement_timeout = ${timeoutMs}; set local lock_timeout = ${timeoutMs}; set local synchronous_commit = on`;
  const lock = 'lock table receiver.erased in exclusive mode';
  return inTransaction(pool, `${settings}; ${lock}`, async (client) => {
    const { duplicates } = await applyGate(client, families, deliveries, []);
    return duplicates;
  });
}

/**
 * Reduces what belongs to people who were erased: of new deliveries, which it stores, and of the callbacks of records, with
 * whatever only refers to them. A callback that names nobody belongs to whom the nearest earlier version of its record
 * names, else the next; one whose record names nobody, to the patients of the records that it refers to.
 *
 * @param client in a transaction that has an exclusive lock of `receiver.erased`
 * @returns `duplicates`: ids of new deliveries that were received before; `removed`: records that have lost a callback as a
 *   whole, to be merged by their keys. All others have pending deliveries
 * @throws the database's error
 */
export async function applyGate(
  client: pg.ClientBase,
  families: readonly Family[],
  incoming: readonly Delivery[],
  records: readonly RecordKey[],
) {
  const { rows } = await client.query<{ value: string }>(
    `select value from receiver.settings where name = 'salt'`,
  );
  const salt = rows[0]!.value;
  const hash = (subject: string) =>
    createHash('sha256')
      .update(salt + subject)
      .digest('hex');
  const erased = new Map<string, Erased>();
  const added = new Map<string, Erased>();
  const look = async (hashes: readonly string[]) => {
    const found = await client.query<{ hash: string; until: number | null; erasure: string }>(
      `select hash, (extract(epoch from until) * 1000)::float8 as until, erasure from receiver.erased where hash = any($1)`,
      [hashes],
    );
    for (const { hash: one, until, erasure } of found.rows)
      erased.set(one, { until: Number(until), erasure });
  };

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
  const waiting = new Map<string, RecordKey>();
  for (const one of [...fresh, ...records]) waiting.set(subjectOf(one), one);
  const visited = new Set<string>();
  const removed: RecordKey[] = [];

  while (waiting.size > 0) {
    const [subject, record] = waiting.entries().next().value!;
    waiting.delete(subject);
    visited.add(subject);
    const list = await readRecord(client, record, fresh, hash);
    await look([
      hash(subject),
      ...list.flatMap(({ names, delivery }) => [...names, ...referencesOf(delivery).map(hash)]),
    ]);
    const toReduce = findReducible(list, erased, hash, subject);
    const family = families.find(({ name }) => name === record.family);
    for (const { known, erasure } of toReduce) {
      const { delivery } = known;
      const reduced = reduce(delivery, family, known.names);
      const isWhole = family !== undefined && hasPersonalKey(family);
      for (const one of [`d:${delivery.id}`, subject])
        if (!erased.has(hash(one))) {
          const entry = {
            until: one === subject ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY,
            erasure,
          };
          erased.set(hash(one), entry);
          added.set(hash(one), entry);
        }
      if (known.isStored || isWhole) await withhold(client, delivery, reduced.id, erasure);
      if (known.isStored) await replaceStored(client, delivery.id, isWhole ? undefined : reduced);
      else fresh.splice(fresh.indexOf(delivery), 1, ...(isWhole ? [] : [reduced]));
      if (isWhole) removed.push(record);
    }
    if (toReduce.length > 0)
      for (const one of await referringTo(client, subject, fresh))
        if (!visited.has(subjectOf(one))) waiting.set(subjectOf(one), one);
  }

  await client.query(
    `insert into receiver.erased (hash, until, erasure)
     select * from unnest($1::text[], $2::timestamptz[], $3::uuid[]) on conflict do nothing`,
    [
      [...added.keys()],
      [...added.values()].map(({ until }) => (until > 0 ? 'infinity' : '-infinity')),
      [...added.values()].map(({ erasure }) => erasure),
    ],
  );
  if (fresh.length > 0)
    await client.query(insertUngated, [toJsonb(fresh.map((delivery) => ({ delivery, copies: 1 })))]);
  return { duplicates, removed };
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
    const erasure = known.isReduced ? undefined : byName(known)?.erasure;
    if (erasure) found.set(known, erasure);
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

async function withhold(
  client: pg.ClientBase,
  delivery: Delivery,
  id: string,
  erasure: string,
): Promise<void> {
  const { body, data, ...rest } = delivery;
  const text = `{"delivery":${JSON.stringify(rest)},"envelope":${body},"data":${data ?? 'null'}}`;
  await client.query(`insert into receiver.withheld (id, erasure, delivery) values ($1, $2, $3)`, [
    id,
    erasure,
    text,
  ]);
}

/** @param reduced undefined: it goes as a whole */
async function replaceStored(
  client: pg.ClientBase,
  id: string,
  reduced: Delivery | undefined,
): Promise<void> {
  await client.query(
    `with pending as (delete from receiver.pending_deliveries where id = $1), resent as (delete from receiver.resends where id = $1)
     delete from receiver.inbox where id = $1`,
    [id],
  );
  if (reduced) await client.query(insertUngated, [toJsonb([{ delivery: reduced, copies: 1 }])]);
}
