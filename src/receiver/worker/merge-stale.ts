import { sql } from 'kysely';
import type pg from 'pg';
import type { RecordKey } from '../../callbacks/delivery.ts';
import { cached, type Family } from '../../callbacks/families/family.ts';
import type { Log } from '../../common/log.ts';
import { columnsOf, isRowOf, quoted, tableOf, valuesOf } from '../store/columns.ts';
import { faultOf } from '../store/errors.ts';
import { fingerprintOf } from '../store/migrate.ts';
import { inTransaction } from '../store/pools.ts';
import { keysOf, mergedCallbacks, planSettings } from '../store/statements/merge-records.ts';
import { putBack } from '../store/statements/pending.ts';
import { type Db, writeSettings } from '../store/tables.ts';

/** Deliveries that wait are compared by the next look, too. */
const lookStart = `select least(now(), (
  select min(stored_at) from receiver.pending_deliveries join receiver.inbox using (id)))::text as start
  where receiver.is_current($1)`;

/**
 * Records with callbacks that were stored since the last look, or before it and not committed; the last day, whatever a clock
 * was. Of reduced callbacks `stored_at` is that of their originals.
 */
const changedRecords = `declare changed no scroll cursor for
  select family, business_id as "businessId", record_id as "recordId" from receiver.callbacks_with('{reduced}')
  union
  select family, business_id, record_id from receiver.inbox where stored_at >= least(now() - interval '1 day',
    coalesce((select value::timestamptz from receiver.settings where name = 'stale_merged'), '-infinity')) - interval '2 hours'`;

/** The records, $1 businesses and $2 ids, with another row than their callbacks make, of which none waits. */
const findStale = cached((family: Family): string => {
  const columns = Object.entries(columnsOf(family));
  const values = valuesOf(family).map((value, index) => `(${value})::${columns[index]![1]}`);
  const row = `row(${columns.map(([name]) => `t.${quoted(name)}`).join(', ')})::record`;
  return `
with locked_records as materialized (
  select *, true as is_locked from unnest($1::text[], $2::text[]) with ordinality as k(business_id, record_id, n)
), ${mergedCallbacks(family)}
select k.business_id as "businessId", k.record_id as "recordId"
from merged_data m join newest n using (n) join locked_records k using (n)
left join lateral (select ${row} as existing from ${tableOf(family)} t where ${isRowOf(family)} offset 0) r on true
where (r.existing is null or r.existing operator(pg_catalog.*<>) row(${values.join(', ')})::record)
  and not exists (select from versions v join receiver.pending_deliveries using (id) where v.n = m.n)`;
});

const compareMs = 60_000;
/** Records of one step. */
const maxRecords = 1_000;

/**
 * Compares rows with the callbacks of their records, of which none waits: a pending row was lost, or a table changed by hand.
 * Where they differ the newest callback waits again, and a worker merges the record.
 *
 * @returns the number of such records @throws the reason of the signal; the database's error
 */
export async function mergeStale(
  { db, pool, families, log }: { db: Db; pool: pg.Pool; families: readonly Family[]; log: Log },
  signal?: AbortSignal,
): Promise<number> {
  let count = 0;
  const start = await look(pool, fingerprintOf(families), signal, async (records) => {
    for (const family of families) {
      const own = records.filter((record) => record.family === family.name);
      if (own.length > 0) count += await putStaleBack(pool, family, own);
    }
  });
  if (start === undefined) return 0;
  await writeSettings(db, { stale_merged: start });
  if (count === 0) return 0;
  log.warn({ records: count }, 'rows were not what their callbacks say, and are merged again');
  const now = sql<Date>`now()`;
  await db
    .insertInto('receiver.counters')
    .values({ name: 'stale', key: '', count, first_at: now, last_at: now })
    .onConflict((row) => row.columns(['name', 'key']).doUpdateSet({ count, last_at: now }))
    .execute();
  return count;
}

/**
 * Reads the records in steps, by a cursor: planned for all rows, which are read in the order of the table. Steps by key would
 * read each callback in the order of records: of 200,000, 1.6 s instead of 0.2 s where few have changed.
 *
 * @returns its start; undefined: the tables are made for other families
 */
async function look(
  pool: pg.Pool,
  fingerprint: string,
  signal: AbortSignal | undefined,
  compare: (records: RecordKey[]) => Promise<void>,
): Promise<string | undefined> {
  const endless = `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0;
    set local cursor_tuple_fraction = 1`;
  let end = () => {};
  return inTransaction(pool, endless, async (client) => {
    // A fetch may take minutes; a stop waits for none.
    end = () => void (client as pg.Client).end();
    signal?.addEventListener('abort', end);
    const starts = await client.query<{ start: string }>(lookStart, [fingerprint]);
    const [first] = starts.rows;
    if (!first) return undefined;
    await client.query(changedRecords);
    for (;;) {
      signal?.throwIfAborted();
      const { rows } = await client.query<RecordKey>(`fetch ${maxRecords} from changed`);
      if (rows.length === 0) return first.start;
      await compare(rows);
    }
  }).finally(() => signal?.removeEventListener('abort', end));
}

/** @returns the number of records that wait again */
async function putStaleBack(pool: pg.Pool, family: Family, records: readonly RecordKey[]): Promise<number> {
  const first = `${planSettings}; set local statement_timeout = ${compareMs}`;
  const compare = (client: pg.ClientBase) => client.query<RecordKey>(findStale(family), keysOf(records));
  const { rows } = await inTransaction(pool, first, compare).catch((error) => {
    // The merge finds the record at fault.
    if (faultOf(error) === 'refusal' || faultOf(error) === 'timeout') return { rows: records };
    throw error;
  });
  if (rows.length > 0) await pool.query(putBack, [family.name, ...keysOf(rows)]);
  return rows.length;
}
