import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Delivery } from '../../callbacks/delivery.ts';
import { Rejection } from '../../callbacks/rejection.ts';
import type { Core } from '../../receiver/feature.ts';
import { storeDeliveries } from '../../receiver/gate/gate.ts';
import { readRejected } from '../../receiver/intake/quarantine-body.ts';
import { faultOf } from '../../receiver/store/errors.ts';
import { insertQuery } from '../../receiver/store/insert-deliveries.ts';
import { inTransaction } from '../../receiver/store/pools.ts';
import { insertRejected, readRows, type StoredCallback } from './copy.ts';
import { createIdentify } from './identify-stored.ts';

/** Callbacks of a step, and of one that changes the gate: inserts wait for it. */
const maxCallbacks = 500;
const maxGated = 20;
const timeoutMs = 10_000;
const retryMs = 500;
const maxRetries = 20;
const maxRejected = 100;

/** What became of the callbacks of a family: read; new here, of these those that an erasure may concern; refused. */
export type Moved = Record<'read' | 'stored' | 'gated' | 'rejected', number>;

/** A callback as it is stored now. */
type Read = Pick<StoredCallback, 'resends' | 'lastAt'> & { delivery: Delivery };

/**
 * Stores callbacks as they would have been received, with their arrival. What is there already stays as it is, so it may be
 * interrupted and run again.
 *
 * @param query of the source
 * @returns what became of them, by family; `rejected`: ids of those that went to the quarantine, a hundred at most
 */
export async function moveCallbacks(
  core: Core,
  client: pg.ClientBase,
  query: string,
  onProgress: (count: number) => void,
) {
  const identify = createIdentify(core.families);
  const families: Record<string, Moved> = {};
  const ids: string[] = [];
  const count = (key: keyof Moved, list: readonly { family: string }[]) => {
    for (const { family } of list) {
      families[family] ??= { read: 0, stored: 0, gated: 0, rejected: 0 };
      families[family][key] += 1;
    }
  };
  for await (const rows of readRows<StoredCallback>(client, query, maxCallbacks)) {
    const read: Read[] = [];
    const rejected: (StoredCallback & { rejection: Rejection })[] = [];
    for (const row of rows) {
      const delivery = identify(row);
      if (delivery instanceof Rejection) rejected.push({ ...row, rejection: delivery });
      else read.push({ ...row, delivery: { ...delivery, storedAt: row.storedAt } });
    }
    const { stored, gated } = await retrying(() => store(core, read));
    await quarantine(core, rejected);
    count('read', [...deliveriesOf(read), ...rejected]);
    count('stored', stored);
    count('gated', gated);
    count('rejected', rejected);
    ids.push(...rejected.slice(0, maxRejected - ids.length).map(({ id }) => id));
    onProgress(rows.length);
  }
  return { families, rejected: ids };
}

/** Others may have the gate or a row. */
async function retrying<T>(run: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1)
    try {
      return await run();
    } catch (error) {
      if (tries >= maxRetries || faultOf(error) !== 'timeout') throw error;
      await sleep(retryMs);
    }
}

async function store({ pool, families }: Core, read: readonly Read[]) {
  const arrivals = [read.map(({ delivery }) => delivery.id), read.map(({ delivery }) => delivery.receivedAt)];
  const { rows } = await pool.query<{ id: string }>(alreadyMoved, arrivals);
  const known = new Set(rows.map(({ id }) => id));
  const fresh = read.filter(({ delivery }) => !known.has(delivery.id));
  if (fresh.length === 0) return { stored: [], gated: [] };
  const gated = await inTransaction(pool, `set local statement_timeout = ${timeoutMs}`, async (target) => {
    const results = await target.query(insertQuery(deliveriesOf(fresh), timeoutMs));
    const ids = new Set(results.rows.flatMap(({ id, result }) => (result === 'gated' ? [id] : [])));
    const isGated = ({ delivery }: Read) => ids.has(delivery.id);
    // In the same commit: they are added, and must be so once.
    await target.query(addResends, resendsOf(fresh.filter((one) => !isGated(one))));
    return fresh.filter(isGated);
  });
  for (let at = 0; at < gated.length; at += maxGated)
    await storeDeliveries(pool, families, deliveriesOf(gated.slice(at, at + maxGated)), timeoutMs);
  // What is reduced has another id, and was not received again.
  await pool.query(addResends, resendsOf(gated));
  return { stored: deliveriesOf(fresh), gated: deliveriesOf(gated) };
}

const deliveriesOf = (read: readonly Read[]) => read.map(({ delivery }) => delivery);

// One that was received here too, but later, gets the earlier arrival.
const alreadyMoved = `
select id from receiver.inbox join unnest($1::uuid[], $2::float8[]) as g(id, us) using (id)
where received_at <= timestamptz 'epoch' + us * interval '1 microsecond'`;

const addResends = `
insert into receiver.resends as r (id, count, last_at)
select id, sum(count), max(last_at) from unnest($1::uuid[], $2::int[], $3::timestamptz[]) as g(id, count, last_at)
where count > 0 and exists (select from receiver.inbox i where i.id = g.id) group by id order by id
on conflict (id) do update set count = r.count + excluded.count, last_at = greatest(r.last_at, excluded.last_at)`;

const resendsOf = (read: readonly Read[]) => [
  read.map(({ delivery }) => delivery.id),
  read.map(({ resends }) => resends),
  read.map(({ lastAt }) => lastAt),
];

/** Keeps acknowledged callbacks that the current rules refuse, under their former ids, until somebody drops them. */
async function quarantine(
  { pool, config, families }: Core,
  rejected: readonly (StoredCallback & { rejection: Rejection })[],
) {
  const rows = rejected.map(({ id, family, businessId, body, resends, lastAt, receivedAt, rejection }) => ({
    ...{ id, family, business_id: businessId || null, path: config.paths[family]?.[0] ?? family },
    ...{ reason: rejection.reason, errors: rejection.errors, body: `\\x${body.toString('hex')}` },
    ...{ acknowledged: true, count: 1 + resends, received_at: new Date(receivedAt / 1000) },
    ...{ last_received_at: lastAt, subjects: readRejected(families, body, family).subjects },
  }));
  await pool.query(insertRejected, [JSON.stringify(rows)]);
}
