import type pg from 'pg';
import type { Delivery, RecordKey } from '../../callbacks/delivery.ts';
import { type Family, hasPersonalKey } from '../../callbacks/families/family.ts';
import { reduce, reducedId } from '../../callbacks/reduce.ts';
import { OtherFamilies } from '../store/errors.ts';
import { insertDeliveries, type StoreResult, toJsonb } from '../store/insert-deliveries.ts';
import { fingerprintOf } from '../store/migrate.ts';
import { inTransaction } from '../store/pools.ts';
import { insertUngated } from '../store/statements/insert.ts';
import {
  findReductions,
  type Gate,
  openGate,
  type Reduction,
  readStored,
  subjectOf,
} from './find-reductions.ts';

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
 * Stores deliveries in one commit; they may contain copies. Where one may concern an erasure, the commit holds the gate's
 * table, which every insert takes in share mode, and what concerns one is stored reduced.
 *
 * @param asGated makes of a delivery what is judged and stored where it may concern an erasure
 * @returns a result for each, in order
 * @throws OtherFamilies; the database's error; then none is stored
 */
export async function storeDeliveries(
  pool: pg.Pool,
  families: readonly Family[],
  deliveries: readonly Delivery[],
  timeoutMs: number,
  asGated = (delivery: Delivery) => delivery,
): Promise<StoreResult[]> {
  const stored = await insertDeliveries(pool, deliveries, timeoutMs);
  if (stored.every((result) => result !== 'gated')) return stored;
  return inTransaction(pool, gateLock(timeoutMs), async (client) => {
    const results = await insertDeliveries(pool, deliveries, timeoutMs, client);
    const gated = deliveries.filter((_, index) => results[index] === 'gated');
    const { duplicates } = await applyGate(client, families, gated.map(asGated), []);
    const gatedResult = (id: string) => (duplicates.has(id) ? 'duplicate' : 'accepted');
    return results.map((result, index) => (result === 'gated' ? gatedResult(deliveries[index]!.id) : result));
  });
}

/** Stored callbacks that are reduced at once, and about their bytes. */
const maxStored = 500;
const maxBytes = 2_000_000;

/**
 * Reduces what belongs to people who were erased: of new deliveries, which it stores, and of the callbacks of records, with
 * whatever refers to them, see `findReductions`. The originals are withheld, and those that were stored wait to be merged
 * once more: with a record's last callback its row goes. At most 500 stored ones are reduced; where that leaves some behind a
 * new delivery, the worker continues their erasures.
 *
 * @param client in a transaction that has an exclusive lock of `receiver.erased`
 * @returns `duplicates`: ids of new deliveries that were received before; `reductions`; `newIds`: of what stays reduced;
 *   `isComplete`: whether nothing else has to be reduced
 * @throws OtherFamilies; the database's error
 */
export async function applyGate(
  client: pg.ClientBase,
  families: readonly Family[],
  incoming: readonly Delivery[],
  records: readonly RecordKey[],
) {
  const ours = await client.query('select where receiver.is_current($1)', [fingerprintOf(families)]);
  if (ours.rowCount === 0) throw new OtherFamilies();
  const gate = await openGate(client);
  const { hash, erased, look } = gate;
  /** Nothing of it is stored: the key of its record is personal. */
  const isWhole = ({ family }: RecordKey) =>
    families.some((one) => one.name === family && hasPersonalKey(one));
  const arriving = incoming.map(({ id }) => id);
  await look(arriving.map((id) => hash(`d:${id}`)));
  // A hash is no proof: a restored backup lacks what was erased after it.
  const stored = await client.query<{ id: string }>(
    `select own as id from unnest($1::uuid[], $2::uuid[]) as r(own, reduced)
     where exists (select from receiver.inbox where id in (own, reduced))`,
    [arriving, arriving.map((id) => reducedId(id, hash))],
  );
  const duplicates = new Set([
    ...stored.rows.map(({ id }) => id),
    ...incoming.filter((one) => isWhole(one) && erased.has(hash(`d:${one.id}`))).map(({ id }) => id),
  ]);
  const fresh = incoming.filter(({ id }) => !duplicates.has(id));
  const found = await findReductions(client, gate, fresh, records);
  const [known, left] = takeLast(found.filter(({ isStored }) => isStored));
  const heads = [...found.filter(({ isStored }) => !isStored), ...known];
  const contents = await readStored(
    client,
    known.map(({ delivery }) => delivery.id),
  );
  for (const one of fresh) contents.set(one.id, one);
  const reductions = heads.map((one) => ({ ...one, delivery: contents.get(one.delivery.id)! }));
  await recordReductions(client, hash, reductions);

  const owners = reductions.flatMap((one) => one.owners);
  const holds = await client.query<{ hash: string }>('select hash from receiver.holds where hash = any($1)', [
    owners,
  ]);
  const isHeld = (one: Whole) => holds.rows.some(({ hash: held }) => one.owners.includes(held));
  await withhold(
    client,
    reductions.filter((one) => one.isStored || isWhole(one.record) || isHeld(one)),
  );
  const removed = await client.query<{ id: string; storedAt: string }>(removal, [
    known.map(({ delivery }) => delivery.id),
  ]);
  await client.query(count, [known.map(({ erasure }) => erasure), known.map(({ record }) => record.family)]);
  const familyOf = ({ record }: Whole) => families.find(({ name }) => name === record.family);
  const reduced = reductions
    .filter((one) => !isWhole(one.record))
    .map((one) => ({ id: one.delivery.id, delivery: reduce(one.delivery, familyOf(one), one.names, hash) }));
  const taken = new Set(reductions.map(({ delivery }) => delivery));
  const toStore = [
    ...fresh.filter((delivery) => !taken.has(delivery)),
    ...reduced.map(({ delivery }) => delivery),
  ];
  if (toStore.length > 0)
    await client.query(insertUngated, [toJsonb(toStore.map((delivery) => ({ delivery, copies: 1 })))]);
  // What was known when stays so, but for the person.
  const newIds = new Map(reduced.map(({ id, delivery }) => [id, delivery.id]));
  await client.query(
    `update receiver.inbox i set stored_at = r.at from unnest($1::uuid[], $2::timestamptz[]) as r(id, at) where i.id = r.id`,
    [removed.rows.map(({ id }) => newIds.get(id)), removed.rows.map(({ storedAt }) => storedAt)],
  );
  if (left.length > 0 && incoming.length > 0)
    await client.query('update receiver.erasures set completed_at = null where id = any($1::uuid[])', [
      left.map(({ erasure }) => erasure),
    ]);
  return { duplicates, reductions, newIds, isComplete: left.length === 0 };
}

/** What refers to others first: it is found by them. @returns what is reduced now, and what is left */
function takeLast(stored: readonly Reduction[]): [taken: readonly Reduction[], left: readonly Reduction[]] {
  let [from, bytes] = [stored.length, 0];
  while (from > 0 && stored.length - from < maxStored && bytes < maxBytes) {
    from -= 1;
    bytes += stored[from]!.size;
  }
  return [stored.slice(from), stored.slice(0, from)];
}

/** A reduction with the content of its callback. */
type Whole = Reduction & { delivery: Delivery };

/** Resent originals are duplicates, and records with reduced callbacks are looked at with each new one. */
async function recordReductions(
  client: pg.ClientBase,
  hash: Gate['hash'],
  reductions: readonly Whole[],
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

async function withhold(client: pg.ClientBase, reductions: readonly Whole[]): Promise<void> {
  const texts = reductions.map(({ delivery }) => {
    const { body, data, ...rest } = delivery;
    return `{"delivery":${JSON.stringify(rest)},"envelope":${body},"data":${data ?? 'null'}}`;
  });
  await client.query(
    `insert into receiver.withheld (id, erasure, family, business_id, record_id, delivery, owners, received_at)
     select id, erasure, family, business, record, delivery, string_to_array(owners, ','),
            timestamptz 'epoch' + us * interval '1 microsecond'
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::jsonb[], $7::text[], $8::float8[])
       as w(id, erasure, family, business, record, delivery, owners, us)
     on conflict (id) do nothing`,
    [
      reductions.map(({ delivery }) => delivery.id),
      reductions.map(({ erasure }) => erasure),
      reductions.map(({ record }) => record.family),
      reductions.map(({ record }) => record.businessId),
      reductions.map(({ record }) => record.recordId),
      texts,
      reductions.map(({ owners }) => owners.join()),
      reductions.map(({ delivery }) => delivery.receivedAt),
    ],
  );
}

const removal = `
with resent as (
  delete from receiver.resends where id = any($1::uuid[])
), gone as (
  delete from receiver.inbox where id = any($1::uuid[]) returning id, family, stored_at
), forgotten as (
  -- Their words may be names; what others have in common with them is counted anew. In the order of inserts.
  delete from receiver.counters where name = 'drift' and key in (
    select key from receiver.counters where name = 'drift' and example = any($1::uuid[]) order by key for update
  )
), waiting as (
  insert into receiver.pending_deliveries (id, family) select id, family from gone order by id
  on conflict (id) do update set next_at = excluded.next_at, attempts = 0, error = null
)
select id, stored_at::text as "storedAt" from gone`;

// Not while a list of erasures is applied again: it has the counts.
const count = `
update receiver.erasures e set counts = e.counts || (
  select jsonb_object_agg(family, n + coalesce((e.counts->>family)::int, 0))
  from (select family, count(*) as n from unnest($1::uuid[], $2::text[]) as r(erasure, family) where erasure = e.id group by family) c
)
where id = any($1) and (subjects is not null or completed_at is not null)`;
