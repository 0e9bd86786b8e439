import type pg from 'pg';
import { keysOf, type RecordKey } from '../../callbacks/delivery.ts';
import type { Family } from '../../callbacks/families/family.ts';
import type { Log } from '../../common/log.ts';
import { faultOf } from '../store/errors.ts';
import { fingerprintOf } from '../store/migrate.ts';
import { inTransaction } from '../store/pools.ts';
import { findStale } from '../store/statements/find-stale.ts';
import { planSettings } from '../store/statements/merge-records.ts';
import { putBack } from '../store/statements/pending.ts';

const noted = `insert into receiver.counters as c (name, key, count, first_at, last_at) values ('stale', '', $1, now(), now())
  on conflict (name, key) do update set count = excluded.count, last_at = now()`;

/** What still waits is compared by the next look, too. No row: the tables are made for other families. */
const lookStart = `select least(now(), (
  select min(stored_at) from receiver.pending_deliveries join receiver.inbox using (id)))::text as start
  where receiver.is_current($1)`;
const setLookStart = `insert into receiver.settings values ('stale_merged', $1)
  on conflict (name) do update set value = excluded.value`;

/**
 * Records with callbacks that were stored since the last look, or before it and not committed; the last day, whatever a clock
 * was. Of reduced callbacks `stored_at` is that of their originals.
 */
const changed = `declare changed no scroll cursor for
  select distinct family, business_id as "businessId", record_id as "recordId" from receiver.inbox
  where subjects @> '{reduced}' or stored_at >= least(now() - interval '1 day',
    coalesce((select value::timestamptz from receiver.settings where name = 'stale_merged'), '-infinity')) - interval '2 hours'`;

const first = (timeoutMs: number) => `set local statement_timeout = ${timeoutMs}`;
const queryMs = 60_000;
/** Records of one step. */
const stepSize = 1_000;

/**
 * Compares rows with the callbacks of their records, of which none waits: somebody has lost a pending row, or changed a table.
 * Where they differ the newest callback waits again, and a worker merges the record.
 *
 * @returns how many there were @throws the reason of the signal; the database's error
 */
export async function mergeStale(
  { pool, families, log }: { pool: pg.Pool; families: readonly Family[]; log: Log },
  signal?: AbortSignal,
): Promise<number> {
  const putStaleBack = async (family: Family, records: readonly RecordKey[]) => {
    const compare = (client: pg.ClientBase) => client.query<RecordKey>(findStale(family), keysOf(records));
    const { rows } = await inTransaction(pool, `${planSettings}; ${first(queryMs)}`, compare).catch(
      (error) => {
        // The merge finds the record at fault.
        if (faultOf(error) === 'refusal' || faultOf(error) === 'timeout') return { rows: records };
        throw error;
      },
    );
    if (rows.length > 0) await pool.query(putBack, [family.name, ...keysOf(rows)]);
    return rows.length;
  };

  // Planned for all rows: for the first ones alone it would read every callback in the order of records.
  const endless = `${first(0)}; set local idle_in_transaction_session_timeout = 0; set local cursor_tuple_fraction = 1`;
  let end = () => {};
  const look = await inTransaction(pool, endless, async (client) => {
    // A fetch may take minutes; a stop waits for none.
    end = () => void (client as pg.Client).end();
    signal?.addEventListener('abort', end);
    const { rows: starts } = await client.query<{ start: string }>(lookStart, [fingerprintOf(families)]);
    if (starts.length === 0) return undefined;
    await client.query(changed);
    for (let count = 0; ; ) {
      signal?.throwIfAborted();
      const { rows } = await client.query<RecordKey>(`fetch ${stepSize} from changed`);
      if (rows.length === 0) return { found: count, start: starts[0]!.start };
      for (const family of families) {
        const own = rows.filter((record) => record.family === family.name);
        if (own.length > 0) count += await putStaleBack(family, own);
      }
    }
  }).finally(() => signal?.removeEventListener('abort', end));
  if (!look) return 0;
  const { found, start } = look;
  await pool.query(setLookStart, [start]);
  if (found > 0) {
    log.warn({ records: found }, 'rows were not what their callbacks say, and are merged again');
    await pool.query(noted, [found]);
  }
  return found;
}
