import type pg from 'pg';
import type { Core } from '../feature.ts';
import type { Family } from '../receiver/families/family.ts';
import { keysOf, type RecordKey } from '../receiver/intake/delivery.ts';
import { tableOf } from '../receiver/store/columns.ts';
import { isRowOf } from '../receiver/worker/merge-statement.ts';

const noted = `insert into receiver.counters as c (name, key, count, first_at, last_at) values ('stale', '', $1, now(), now())
  on conflict (name, key) do update set count = excluded.count, last_at = now()`;

/** Records of one step. */
const stepSize = 1_000;
const queryMs = 60_000;

/**
 * Merges records whose newest delivery is not that of their row, while none of their deliveries waits: somebody has lost a
 * pending row, or restored a table.
 *
 * @returns how many there were @throws the reason of the signal; the database's error
 */
export async function mergeStale(
  { pool, families, merge, log }: Pick<Core, 'pool' | 'families' | 'merge' | 'log'>,
  signal?: AbortSignal,
): Promise<number> {
  const query = async <Row extends pg.QueryResultRow>(text: string, values: unknown[]) =>
    (await pool.query<Row>({ text, values, query_timeout: queryMs })).rows;

  /** The next records in the order of their index. */
  const nextRecords = (after: RecordKey | undefined) =>
    query<RecordKey>(
      `select family, business_id as "businessId", record_id as "recordId" from receiver.inbox
       where $1::text is null or (business_id, family, record_id) > ($1, $2, $3)
       group by business_id, family, record_id order by business_id, family, record_id limit ${stepSize}`,
      [after?.businessId, after?.family, after?.recordId],
    );

  /** In one statement, so in one snapshot: a merge in between makes no record stale. */
  const staleOf = (family: Family, records: readonly RecordKey[]) =>
    query<RecordKey>(
      `select business_id as "businessId", record_id as "recordId"
       from unnest($2::text[], $3::text[]) as k(business_id, record_id)
       cross join lateral (
         select id from receiver.inbox i
         where i.business_id = k.business_id and i.family = $1 and i.record_id = k.record_id order by version desc limit 1
       ) newest
       where not exists (select from ${tableOf(family)} t where ${isRowOf(family)} and t.delivery_id = newest.id)
         and not exists (
           select from receiver.inbox i join receiver.pending_deliveries using (id)
           where i.business_id = k.business_id and i.family = $1 and i.record_id = k.record_id
         )`,
      [family.name, ...keysOf(records)],
    );

  let found = 0;
  let last: RecordKey | undefined;
  for (;;) {
    signal?.throwIfAborted();
    const records = await nextRecords(last);
    for (const family of families) {
      const ofFamily = records.filter((record) => record.family === family.name);
      const stale = ofFamily.length > 0 ? await staleOf(family, ofFamily) : [];
      if (stale.length === 0) continue;
      found += stale.length;
      await merge(family.name, { records: stale });
    }
    last = records.at(-1);
    if (records.length < stepSize) break;
  }
  if (found > 0) {
    log.warn({ records: found }, 'rows lacked their newest callback and were merged again');
    await query(noted, [found]);
  }
  return found;
}
