import { randomInt } from 'node:crypto';
import type pg from 'pg';
import { type Family, families, knownGood } from '../families/index.ts';
import { type Circuit, createCircuit } from '../store/circuit.ts';
import { type CircuitDependencies, databaseTimeoutMs, reportOutage } from '../store/circuits.ts';
import { isOutage } from '../store/faults.ts';
import { tryFindLockHolders } from '../store/lock-holders.ts';
import { rolledBack } from '../store/rolled-back.ts';
import type { Delivery } from './delivery.ts';
import { identify } from './identity.ts';
import { insertQuery } from './insert-deliveries.ts';

/** The circuit of PostgreSQL, which is unavailable unless deliveries can be inserted. */
export function databaseCircuit(pool: pg.Pool, dependencies: CircuitDependencies): Circuit {
  return createCircuit({
    store: 'PostgreSQL',
    timeoutMs: databaseTimeoutMs,
    probe: () => probeInbox(pool),
    check: () => pool.query({ text: emptyInsert, query_timeout: databaseTimeoutMs }),
    isOutage,
    onChange: reportOutage('PostgreSQL', dependencies, () => tryFindLockHolders(pool)),
  });
}

/** Needs the lock, the permissions and the writable server that an insert needs, and writes nothing. */
const emptyInsert = 'insert into inbox (id) select id from inbox where false';

/**
 * Inserts a known-good delivery of each family, in a transaction that is rolled back. Where that fails, an error of
 * another insert says nothing about its deliveries: the store is at fault.
 *
 * @throws the database's error; Error where the rows are not there afterwards
 */
export async function probeInbox(pool: pg.Pool): Promise<void> {
  const deliveries = families.map(knownGoodDelivery);
  await rolledBack(pool, async (client) => {
    await client.query(insertQuery(deliveries, { timeoutMs: databaseTimeoutMs }));
    const { rowCount } = await client.query('select from inbox where id = any($1::uuid[])', [
      deliveries.map(({ id }) => id),
    ]);
    if (rowCount !== deliveries.length) throw new Error('A trigger of inbox drops rows.');
  });
}

/** A delivery of a record that does not exist. */
export const knownGoodDelivery = (family: Family): Delivery => knownGoodVersions(family)[0]!;

/** Two versions of a record that does not exist, in order. */
export function knownGoodVersions(family: Family): Delivery[] {
  const first = knownGood(family, 9e14 + randomInt(2 ** 46));
  return [first, { ...first, event_time: first.event_time + 1 }].map((envelope) => {
    const body = Buffer.from(JSON.stringify(envelope));
    return { id: identify(envelope, family), family: family.name, body };
  });
}
