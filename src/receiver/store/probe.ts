import type pg from 'pg';
import type { Log } from '../../common/log.ts';
import { type Circuit, createCircuit } from './circuit.ts';
import { faultOf } from './errors.ts';

/** PostgreSQL is unavailable unless a delivery can be inserted. @param timeoutMs of a commit */
export function databaseCircuit(pool: pg.Pool, log: Log, timeoutMs: number): Circuit {
  return createCircuit({
    store: 'PostgreSQL',
    timeoutMs,
    probe: () => probe(pool, timeoutMs),
    isOutage: (error) => ['outage', 'timeout'].includes(faultOf(error)),
    log,
  });
}

// It takes pages of its own, so that a full disk shows; what is left of it is vacuumed soon, unlike in inbox.
const largeText = `(select string_agg(md5(random()::text), '') from generate_series(1, 250))`;

/**
 * Inserts a delivery that is rolled back, in one round trip. Where that fails, an error of another insert says nothing about its
 * deliveries: the store is at fault.
 */
async function probe(pool: pg.Pool, timeoutMs: number): Promise<void> {
  const client = await pool.connect();
  let isUsable = false;
  try {
    await client.query({
      text: `begin; set local statement_timeout = ${timeoutMs}; set local lock_timeout = ${timeoutMs};
        select from receiver.erased where false for share;
        insert into receiver.inbox select gen_random_uuid(), 'probe', 'probe', '', '', 'probe', '', now(), '{}', '{}', null, now();
        insert into receiver.pending_deliveries (id, family, error) select gen_random_uuid(), 'probe', ${largeText};
        insert into receiver.resends select gen_random_uuid(), 1, now();
        rollback`,
      query_timeout: timeoutMs,
    });
    isUsable = true;
  } finally {
    // Else it is in a transaction that has failed.
    client.release(!isUsable);
  }
}
