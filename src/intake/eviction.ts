import type pg from 'pg';
import { type Log, throttled } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import { freeDisk } from '../store/embedded/place.ts';

export interface EvictionOptions {
  pool: pg.Pool;
  log: Log;
  limits: Config['quarantine'];
}

interface Evicted {
  /** Before the eviction. */
  bytes: number;
  evicted: { reason: string; count: number; bytes: number; replayed: boolean }[];
}

// Evicts replayed bodies first, then the oldest, and counts those that were not replayed. Acknowledged bodies stay and do
// not count. The rows are chosen in one snapshot before they are locked: of two receivers that measure at the same time, the
// second one finds the rows of the first, and deletes nothing more. It waits for no row: this prevents deadlocks with resends.
const statement = `
with kept as materialized (
  select coalesce(sum(bytes), 0)::float8 as bytes from quarantine where not acknowledged
), oldest as materialized (
  select id, bytes, replayed_at is null as is_open, last_received_at from quarantine
  where not acknowledged and (select bytes from kept) > $1
  order by (replayed_at is null), last_received_at, id limit $3
), placed as (
  select id, sum(bytes) over (order by is_open, last_received_at, id) - bytes as before from oldest
), chosen as materialized (
  select q.id from quarantine q join placed using (id) where placed.before < (select bytes from kept) - $2
  for update of q skip locked
), deleted as (
  delete from quarantine q using chosen where q.id = chosen.id
  returning q.reason, q.bytes, q.replayed_at is not null as replayed
), evicted as (
  select reason, replayed, count(*) as count, sum(bytes)::bigint as bytes from deleted group by reason, replayed
), counted as (
  insert into dropped_bodies (day, reason, count, bytes, last_at)
  select (now() at time zone 'UTC')::date, reason, count, bytes, now() from evicted where not replayed order by reason
  on conflict (day, reason) do update set count = dropped_bodies.count + excluded.count,
    bytes = dropped_bodies.bytes + excluded.bytes, last_at = greatest(dropped_bodies.last_at, excluded.last_at)
)
select bytes, (select coalesce(json_agg(evicted), '[]') from evicted) as evicted from kept`;

const everyMs = 1_000;
/** A measurement sees what other receivers have added. */
const measureEveryMs = 60_000;
const logEveryMs = 60_000;
const rowsPerStatement = 5_000;
/** The share of the limit that an eviction makes room for, and that may come before the next measurement. */
const roomShare = 1 / 50;
/** Counts with each body, as in the column `bytes`. */
const rowBytes = 1024;
const freeDiskShare = 1 / 10;

/** The most bytes that the quarantine may have: of the free disk a tenth at most, where that is known. */
export async function quarantineLimit({ bytes, dataDir }: Config['quarantine']): Promise<number> {
  if (dataDir === undefined) return bytes;
  return Math.min(bytes, (await freeDisk(dataDir)).bytes * freeDiskShare);
}

/** Keeps the quarantine below its limit. It measures only after as much came as could fill it, at most once a second. */
export function createEviction({ pool, log, limits }: EvictionOptions) {
  const logFailure = throttled((more, err) =>
    log.warn({ err, ...more }, 'eviction from the quarantine failed; retrying'),
  );
  let running: Promise<void> | undefined;
  let room = 0;
  let measuredAt = Number.NEGATIVE_INFINITY;
  let loggedAt = Number.NEGATIVE_INFINITY;
  let unlogged = { dropped: 0, replayed: 0 };

  const logDropped = () => {
    if (unlogged.dropped + unlogged.replayed === 0) return;
    const text = 'quarantine full: bodies dropped, replayed ones first, then the oldest';
    log.warn({ ...unlogged, limit: limits.bytes }, text);
    loggedAt = performance.now();
    unlogged = { dropped: 0, replayed: 0 };
  };

  const evict = async () => {
    const limit = await quarantineLimit(limits);
    const roomOfLimit = limit * roomShare;
    for (;;) {
      const values = [limit, limit - roomOfLimit, rowsPerStatement];
      const { rows } = await pool.query<Evicted>(statement, values);
      const { bytes, evicted } = rows[0]!;
      for (const { count, replayed } of evicted) {
        unlogged[replayed ? 'replayed' : 'dropped'] += count;
      }
      if (performance.now() - loggedAt > logEveryMs) logDropped();
      const left = bytes - evicted.reduce((sum, one) => sum + one.bytes, 0);
      room = Math.min(roomOfLimit, limit - left);
      if (left <= limit || evicted.length === 0) return;
    }
  };

  return {
    /** To be called with the lengths of bodies that were stored. */
    added: (lengths: readonly number[]): void => {
      room -= lengths.reduce((sum, length) => sum + length + rowBytes, 0);
      const sinceMs = performance.now() - measuredAt;
      if (running || sinceMs < everyMs || (room > 0 && sinceMs < measureEveryMs)) return;
      measuredAt = performance.now();
      running = evict()
        .catch(logFailure)
        .finally(() => {
          running = undefined;
        });
    },
    /** Resolves once no eviction runs. */
    done: async (): Promise<void> => {
      await running;
      logDropped();
    },
  };
}
