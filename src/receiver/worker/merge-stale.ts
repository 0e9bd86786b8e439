import { sql } from 'kysely';
import type pg from 'pg';
import type { RecordKey } from '../../callbacks/delivery.ts';
import { fingerprintOf } from '../store/migrate.ts';
import { inTransaction } from '../store/pools.ts';
import { type Db, writeSettings } from '../store/tables.ts';
import { mergeRecords, type RebuildOptions } from './rebuild.ts';

/** Deliveries that wait are looked at by the next look, too. */
const lookStart = `select least(now(), (
  select min(stored_at) from receiver.pending_deliveries join receiver.inbox using (id)))::text as start
  where receiver.is_current($1)`;

/**
 * Records with callbacks that were stored since the last look, or before it and not committed, of which none waits; the last day,
 * whatever a clock was. Of reduced callbacks `stored_at` is that of their originals.
 */
const changedRecords = `declare changed no scroll cursor for
  select family, business_id as "businessId", record_id as "recordId" from receiver.callbacks_with('{reduced}')
  union
  select family, business_id, record_id from receiver.inbox where stored_at >= least(now() - interval '1 day',
    coalesce((select value::timestamptz from receiver.settings where name = 'stale_merged'), '-infinity')) - interval '2 hours'
  except
  select i.family, business_id, record_id from receiver.pending_deliveries join receiver.inbox i using (id)`;

/** Planned for all rows, which are read in the order of the table. */
const settings = `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0;
  set local cursor_tuple_fraction = 1`;

const maxRecords = 500;

/**
 * Merges records with new callbacks again, which writes only rows that differ: a pending row was lost, or a table changed by hand.
 *
 * @returns the number of such rows @throws OtherFamilies, the reason of the signal, the database's error
 */
export async function mergeStale(
  options: RebuildOptions & { db: Db },
  signal?: AbortSignal,
): Promise<number> {
  const { db, pool, families, log } = options;
  let count = 0;
  let end = () => {};
  const start = await inTransaction(pool, settings, async (client) => {
    // A fetch may take minutes; a stop waits for none.
    end = () => void (client as pg.Client).end();
    signal?.addEventListener('abort', end);
    const starts = await client.query<{ start: string }>(lookStart, [fingerprintOf(families)]);
    const [first] = starts.rows;
    if (!first) return undefined;
    await client.query(changedRecords);
    for (;;) {
      signal?.throwIfAborted();
      const { rows } = await client.query<RecordKey>(`fetch ${maxRecords} from changed`);
      if (rows.length === 0) return first.start;
      const { written, waited } = await mergeRecords(options, rows, true);
      // A row differs rightly where a callback was stored meanwhile.
      count += Math.max(0, written - waited);
    }
  }).finally(() => signal?.removeEventListener('abort', end));
  if (start) await writeSettings(db, { stale_merged: start });
  if (count === 0) return 0;
  log.warn({ rows: count }, 'rows were not what their callbacks say, and were corrected');
  const now = sql<Date>`now()`;
  await db
    .insertInto('receiver.counters')
    .values({ name: 'stale', key: '', count, first_at: now, last_at: now })
    .onConflict((row) => row.columns(['name', 'key']).doUpdateSet({ count, last_at: now }))
    .execute();
  return count;
}
