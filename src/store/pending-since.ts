import type pg from 'pg';
import { isDamaged } from './faults.ts';

export type PendingSince = ReturnType<typeof rememberPendingSince>;

/** No insert takes longer, but one whose commit waits for a standby: a complete scan finds that. */
const marginS = 10;
/** With fewer deleted rows every scan is complete; autovacuum removes as many. */
const manyDead = 10_000;
/** Complete scans of many deleted rows take half a percent of the time, or more where one takes longer than half a second. */
const pausesPerScan = 200;
const maxPauseMs = 120_000;
/** One that takes longer runs beside its callers. */
const quickMs = 100;
const timeoutMs = 25_000;
const beginning = '-infinity';

// Only the index is left to the planner, whose statistics may be hours old. In UTC, because sessions differ in their zone.
const query = (from: string) => `
set local statement_timeout = ${timeoutMs};
set local enable_seqscan = off;
set local enable_bitmapscan = off;
select to_char(least(min(received_at), now() - interval '${marginS} s') at time zone 'UTC',
    'YYYY-MM-DD HH24:MI:SS.US"Z"') as since,
  pg_stat_get_dead_tuples('pending_deliveries'::regclass)::float8 as dead
from pending_deliveries where received_at >= '${from}'`;

/**
 * Creates a function that returns a time as text: every pending delivery was received at that time or later. Who looks for
 * the oldest of them begins there. While an old snapshot keeps PostgreSQL from removing deleted rows, a scan from the
 * beginning of the index reads all of them again.
 *
 * With many deleted rows, the scan for the time begins at the one found before. One from the beginning follows as soon as the
 * last one has been paid for: a transaction may commit a delivery later than the margin after its arrival, and clocks are
 * set back.
 *
 * With `wait`, it waits for a complete scan that is due. Otherwise it waits for the first, and for quick ones.
 *
 * Where a page of the table or its index is damaged, it is the beginning of all times.
 *
 * @param pauses between two complete scans, as a multiple of what the first took; two minutes at most
 * @throws the database's error
 */
export function rememberPendingSince(pool: pg.Pool, pauses = pausesPerScan) {
  let since = beginning;
  let dead = 0;
  let isQuick = true;
  let dueAt = Number.NEGATIVE_INFINITY;
  let completing: Promise<void> | undefined;

  const find = async (from: string) => {
    try {
      const results = (await pool.query(query(from))) as unknown as pg.QueryResult<{
        since: string;
        dead: number;
      }>[];
      const found = results.at(-1)!.rows[0]!;
      dead = found.dead;
      return found.since;
    } catch (error) {
      if (isDamaged(error)) return beginning;
      throw error;
    }
  };
  const complete = async () => {
    const began = performance.now();
    try {
      since = await find(beginning);
    } finally {
      const tookMs = performance.now() - began;
      isQuick = tookMs < quickMs;
      dueAt = performance.now() + Math.min(pauses * tookMs, maxPauseMs);
      completing = undefined;
    }
  };

  return async ({ wait = false } = {}): Promise<string> => {
    if (completing || dead < manyDead || performance.now() >= dueAt) {
      completing ??= complete();
      if (wait || isQuick || since === beginning) {
        await completing;
        return since;
      }
      completing.catch(() => {}); // the next one is due soon
    }
    const from = since;
    const found = await find(from);
    // A complete scan may have found an older one meanwhile.
    if (since === from) since = found;
    return since;
  };
}
