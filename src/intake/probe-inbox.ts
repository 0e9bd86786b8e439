import { randomBytes, randomInt } from 'node:crypto';
import type pg from 'pg';
import { timeLimits } from '../common/time-limits.ts';
import { type Family, families, knownGood } from '../families/index.ts';
import { type Circuit, createCircuit } from '../receiver/store/circuit.ts';
import { type CircuitDependencies, reportOutage } from '../store/circuits.ts';
import { isDamaged, isOutage } from '../store/faults.ts';
import { tryFindLockHolders } from '../store/lock-holders.ts';
import { rolledBack } from '../store/rolled-back.ts';
import type { Delivery } from './delivery.ts';
import { identify } from './identity.ts';
import { insertQuery } from './insert-deliveries.ts';

/** The circuit of PostgreSQL, which is unavailable unless deliveries can be inserted. */
export function databaseCircuit(pool: pg.Pool, dependencies: CircuitDependencies): Circuit {
  const { timeoutMs = timeLimits().databaseMs } = dependencies;
  return createCircuit({
    store: 'PostgreSQL',
    timeoutMs,
    probe: () => probeInbox(pool, timeoutMs),
    check: () => pool.query({ text: emptyInsert, query_timeout: timeoutMs }),
    isOutage,
    // It concerns what PostgreSQL would put on the page: the inbox finds another place for it.
    isAvailable: isDamaged,
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
export async function probeInbox(pool: pg.Pool, timeoutMs = timeLimits().databaseMs): Promise<void> {
  try {
    await insertKnownGood(pool, timeoutMs);
  } catch (error) {
    // That concerns what PostgreSQL would put on the page: the inbox finds another place for it.
    if (!isDamaged(error)) throw error;
  }
}

async function insertKnownGood(pool: pg.Pool, timeoutMs: number): Promise<void> {
  const deliveries = families.map(knownGoodDelivery);
  await rolledBack(pool, async (client) => {
    await client.query(insertQuery(deliveries, { timeoutMs }));
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
  return versionsOf(family, knownGood(family, 9e14 + randomInt(2 ** 46)));
}

// Beyond about 2 kB PostgreSQL moves the largest columns to another table.
const wideBodyBytes = 1_700;
const paddingBytes = 1_300;

/** Deliveries of records that do not exist: one with a long row in inbox, one with a long row in the family's table. */
export function wideKnownGood(family: Family): { inInbox: Delivery; inTable: Delivery } {
  const made = (bytes: (bodyBytes: number) => number) => {
    const envelope = knownGood(family, 9e14 + randomInt(2 ** 46));
    const missing = Math.max(0, bytes(JSON.stringify(envelope).length));
    const padding = randomBytes(missing >> 1).toString('hex');
    return versionsOf(family, { ...envelope, data: { ...envelope.data, padding } })[0]!;
  };
  return { inInbox: made((bodyBytes) => wideBodyBytes - bodyBytes), inTable: made(() => paddingBytes) };
}

function versionsOf(family: Family, first: ReturnType<typeof knownGood>): Delivery[] {
  return [first, { ...first, event_time: first.event_time + 1 }].map((envelope) => {
    const body = Buffer.from(JSON.stringify(envelope));
    return { id: identify(envelope, family), family: family.name, body };
  });
}
