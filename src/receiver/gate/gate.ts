import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Delivery, RecordKey } from '../../callbacks/delivery.ts';
import { type Family, hasPersonalKey } from '../../callbacks/families/family.ts';
import { reduce, reducedId } from '../../callbacks/reduce.ts';
import { faultOf, OtherFamilies } from '../store/errors.ts';
import { insertDeliveries, insertUngated, storedColumns, toJsonb } from '../store/insert-deliveries.ts';
import { fingerprintOf } from '../store/migrate.ts';
import { inTransaction } from '../store/pools.ts';
import { findReductions, type Gate, openGate, type Reduction } from './find-reductions.ts';

const frozenMs = 5_000;
/** Inserts queue behind what waits for the lock: for less than their own time limit, or PostgreSQL seems to be away. */
const lockMs = 1_000;
const retryMs = 200;

/**
 * The first message of a transaction that changes the gate. All inserts wait meanwhile, so PostgreSQL ends the session of a
 * process that is frozen.
 */
export const gateLock = (statementMs: number, waitMs = statementMs): string =>
  `set local statement_timeout = ${statementMs}; set local lock_timeout = ${waitMs};
   set local idle_in_transaction_session_timeout = ${frozenMs}; set local tcp_user_timeout = ${frozenMs};
   lock table receiver.erased in exclusive mode`;

/**
 * Runs a function in a transaction that has the gate's lock; again, after a pause, where others have it or it took too long.
 *
 * @param timeoutMs of a statement, and for trying again
 * @throws the function's error, or the database's; then nothing was changed
 */
export async function inGate<T>(
  pool: pg.Pool,
  timeoutMs: number,
  run: (client: pg.PoolClient) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (const started = performance.now(); ; )
    try {
      return await inTransaction(pool, gateLock(timeoutMs, lockMs), run, timeoutMs);
    } catch (error) {
      if (faultOf(error) !== 'timeout' || performance.now() - started > timeoutMs) throw error;
      await sleep(retryMs, undefined, { signal });
    }
}

/**
 * Stores deliveries, which may contain copies: those that may concern an erasure in a commit of their own.
 *
 * @param asGated makes of a delivery what is judged and stored where it may concern an erasure
 * @returns a result for each, in order
 * @throws the database's error; OtherFamilies
 */
export async function storeDeliveries(
  pool: pg.Pool,
  families: readonly Family[],
  deliveries: readonly Delivery[],
  timeoutMs: number,
  asGated = (delivery: Delivery) => delivery,
): Promise<('accepted' | 'duplicate')[]> {
  const results = await insertDeliveries(pool, deliveries, timeoutMs);
  const gated = deliveries.filter((_, index) => results[index] === 'gated');
  if (gated.length === 0) return results.filter((result) => result !== 'gated');
  const stored = await storeGated(pool, families, gated.map(asGated), timeoutMs);
  return results.map((result) => (result === 'gated' ? stored.shift()! : result));
}

/**
 * Stores deliveries that may concern an erasure, which may contain copies, in one commit: reduced where they do. The sweep finds
 * what waits then, since reduced ones have another id.
 *
 * @returns a result for each, in order
 * @throws the database's error; OtherFamilies. Then none is stored
 */
export async function storeGated(
  pool: pg.Pool,
  families: readonly Family[],
  deliveries: readonly Delivery[],
  timeoutMs: number,
): Promise<('accepted' | 'duplicate')[]> {
  const { duplicates } = await inGate(pool, timeoutMs, (client) =>
    applyGate(client, families, deliveries, []),
  );
  const received = new Set(duplicates);
  return deliveries.map(({ id }) => {
    if (received.has(id)) return 'duplicate';
    received.add(id);
    return 'accepted';
  });
}

/** Stored callbacks that are reduced at once. */
const maxStored = 100;

interface GateResult {
  duplicates: ReadonlySet<string>;
  reductions: readonly ReductionWithBody[];
  isComplete: boolean;
}

interface ReductionWithBody extends Reduction {
  delivery: Delivery;
  /** What is stored in its place: nothing where the key of its record is personal. */
  copy: Delivery | undefined;
}

/**
 * Reduces what belongs to people who were erased: of new deliveries, which it stores, and of the callbacks of records, with
 * whatever refers to them. The originals are withheld, and those that were stored wait to be merged once more: with a record's
 * last callback its row goes. At most 100 stored ones are reduced; where that leaves some behind a new delivery, the worker
 * continues their erasures.
 *
 * @param client in a transaction that has an exclusive lock of `receiver.erased`
 * @throws OtherFamilies; the database's error
 */
export async function applyGate(
  client: pg.ClientBase,
  families: readonly Family[],
  incoming: readonly Delivery[],
  records: readonly RecordKey[],
): Promise<GateResult> {
  await checkFamilies(client, families);
  const gate = await openGate(client);
  const duplicates = await findDuplicates(client, families, gate, incoming);
  const unstored = new Map<string, Delivery>();
  for (const delivery of incoming.toReversed())
    if (!duplicates.has(delivery.id)) unstored.set(delivery.id, delivery);
  const all = await findReductions(client, gate, [...unstored.values()], records);
  const ofInbox = all.filter(({ isStored }) => isStored);
  // Callbacks that refer to others first: these find them.
  const stored = ofInbox.slice(-maxStored);
  const left = ofInbox.slice(0, -maxStored);
  const storedIds = stored.map(({ delivery }) => delivery.id);
  const originals = await readStored(client, storedIds);
  const reductions = [...all.filter(({ isStored }) => !isStored), ...stored].map((reduction) => {
    const { id, family } = reduction.delivery;
    const delivery = originals.get(id) ?? unstored.get(id)!;
    const ofFamily = families.find(({ name }) => name === family);
    const copy = isWithheldWhole(families, delivery)
      ? undefined
      : reduce(delivery, ofFamily, reduction.patientHashes, gate.hash);
    return { ...reduction, delivery, copy };
  });
  for (const { delivery } of reductions) unstored.delete(delivery.id);
  await storeReduced(client, reductions);
  await insert(client, [...unstored.values()]);
  if (left.length > 0 && incoming.length > 0)
    await client.query('update receiver.erasures set completed_at = null where id = any($1::uuid[])', [
      left.map(({ erasure }) => erasure),
    ]);
  return { duplicates, reductions, isComplete: left.length === 0 };
}

/** @throws OtherFamilies */
export async function checkFamilies(db: pg.Pool | pg.ClientBase, families: readonly Family[]): Promise<void> {
  const { rowCount } = await db.query('select where receiver.is_current($1)', [fingerprintOf(families)]);
  if (rowCount === 0) throw new OtherFamilies();
}

/** Nothing of a reduced callback is stored where the key of its record is personal. */
const isWithheldWhole = (families: readonly Family[], { family }: RecordKey): boolean =>
  families.some((other) => other.name === family && hasPersonalKey(other));

async function findDuplicates(
  client: pg.ClientBase,
  families: readonly Family[],
  { hash }: Gate,
  incoming: readonly Delivery[],
): Promise<Set<string>> {
  if (incoming.length === 0) return new Set();
  const ids = incoming.map(({ id }) => id);
  const areWhole = incoming.map((delivery) => isWithheldWhole(families, delivery));
  // A hash alone is no proof: a restored backup lacks what was erased after it.
  const { rows } = await client.query<{ id: string }>(
    `select own as id from unnest($1::uuid[], $2::uuid[], $3::boolean[]) as r(own, reduced, is_whole)
     where exists (select from receiver.inbox where id in (own, reduced))
       or is_whole and exists (select from receiver.erased_of(array['d:' || own]))`,
    [ids, ids.map((id) => reducedId(id, hash)), areWhole],
  );
  return new Set(rows.map(({ id }) => id));
}

export async function readStored(
  client: pg.ClientBase,
  ids: readonly string[],
): Promise<Map<string, Delivery>> {
  if (ids.length === 0) return new Map();
  const { rows } = await client.query<Delivery>(
    `select ${storedColumns} from receiver.inbox where id = any($1::uuid[])`,
    [ids],
  );
  return new Map(rows.map((delivery) => [delivery.id, delivery]));
}

async function storeReduced(client: pg.ClientBase, reductions: readonly ReductionWithBody[]): Promise<void> {
  if (reductions.length === 0) return;
  const rows = reductions.map(({ delivery, copy, erasure, ownerHashes, isStored }) => {
    const { body, data, ...head } = delivery;
    const content = isStored ? {} : { body: body.toString(), data };
    return { ...head, head, ...content, erasure, ownerHashes, isStored, hasCopy: copy !== undefined };
  });
  const values = [JSON.stringify(rows)];
  await client.query(addToGate, values);
  const originals = await client.query<{ id: string; storedAt: string }>(withholding, values);
  const storedAt = new Map(originals.rows.map((original) => [original.id, original.storedAt]));
  const copies = reductions.flatMap(({ delivery: { id }, copy }) => {
    const at = storedAt.get(id);
    // Reports as of a moment before the erasure keep what was stored by then.
    return copy && at ? { ...copy, storedAt: at } : (copy ?? []);
  });
  await insert(client, copies);
}

async function insert(client: pg.ClientBase, deliveries: readonly Delivery[]): Promise<void> {
  if (deliveries.length === 0) return;
  await client.query(insertUngated, [toJsonb(deliveries.map((delivery) => ({ delivery, copies: 1 })))]);
}

const reductionRows = `jsonb_to_recordset($1::jsonb) as r(
  id uuid, family text, "businessId" text, "recordId" text, "receivedAt" float8, head jsonb, body text, data text,
  erasure uuid, "ownerHashes" text[], "isStored" boolean, "hasCopy" boolean)`;

// Resent originals are duplicates, and records with reduced callbacks are looked at with each new one.
const addToGate = `
select receiver.gate(receiver.hash_of('d:' || id), 'infinity', erasure),
       receiver.gate(receiver.hash_of(receiver.record_subject(family, "businessId", "recordId")), '-infinity', erasure)
from ${reductionRows}`;

/** Withholds originals: the stored ones, which it deletes and counts, and new ones that have to be kept. Returns when each was stored. */
const withholding = `
with reductions as materialized (
  select * from ${reductionRows}
), stored as materialized (
  select id from reductions where "isStored"
), resent as (
  delete from receiver.resends where id = any(array(select id from stored))
), gone as (
  delete from receiver.inbox where id = any(array(select id from stored)) returning id, family, envelope, data, stored_at
), withheld as (
  insert into receiver.withheld (id, erasure, family, business_id, record_id, delivery, envelope, data, owner_hashes, received_at)
  select r.id, erasure, r.family, "businessId", "recordId", jsonb_build_object('delivery', head), coalesce(envelope, body::jsonb),
         coalesce(gone.data, r.data::jsonb), "ownerHashes", timestamptz 'epoch' + "receivedAt" * interval '1 microsecond'
  from reductions r left join gone using (id)
  where "isStored" or not "hasCopy" or exists (select from receiver.holds where hash = any("ownerHashes"))
  on conflict (id) do nothing
), forgotten as (
  -- Their words may be names; what others have in common with them is counted anew. In the order of inserts.
  delete from receiver.counters where name = 'drift' and key in (
    select key from receiver.counters where name = 'drift' and example = any(array(select id from stored)) order by key for update
  )
), waiting as (
  insert into receiver.pending_deliveries (id, family) select id, family from gone order by id
  on conflict (id) do update set next_at = excluded.next_at, attempts = 0, error = null
), counted as (
  -- Not while a list of erasures is applied again: it has the counts.
  update receiver.erasures e set counts = e.counts || (
    select jsonb_object_agg(family, n + coalesce((e.counts->>family)::int, 0))
    from (select family, count(*) as n from reductions where "isStored" and erasure = e.id group by family) c
  )
  where id = any(array(select erasure from reductions where "isStored")) and (subjects is not null or completed_at is not null)
)
select id, stored_at::text as "storedAt" from gone`;
