import type pg from 'pg';
import { type Log, throttled } from '../common/log.ts';
import type { Observer } from '../common/observer.ts';
import type { Config } from '../config/config.ts';
import { freeDisk } from '../store/embedded/place.ts';

export interface EvictionOptions {
  pool: pg.Pool;
  log: Log;
  limits: Config['quarantine'];
  observe?: Pick<Observer, 'evicted'> | undefined;
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
export class Eviction {
  private readonly options: EvictionOptions;
  private readonly logFailure: (error: unknown) => void;
  private running: Promise<void> | undefined;
  private room = 0;
  private measuredAt = Number.NEGATIVE_INFINITY;
  private loggedAt = Number.NEGATIVE_INFINITY;
  /** Since the last line of the log. */
  private unlogged = { dropped: 0, replayed: 0 };

  constructor(options: EvictionOptions) {
    this.options = options;
    this.logFailure = throttled((more, err) =>
      options.log.warn({ err, ...more }, 'eviction from the quarantine failed; retrying'),
    );
  }

  /** Call it with the lengths of bodies that were stored. */
  added(lengths: readonly number[]): void {
    this.room -= lengths.reduce((sum, length) => sum + length + rowBytes, 0);
    const sinceMs = performance.now() - this.measuredAt;
    if (this.running || sinceMs < everyMs || (this.room > 0 && sinceMs < measureEveryMs)) return;
    this.measuredAt = performance.now();
    this.running = this.evict()
      .catch(this.logFailure)
      .finally(() => {
        this.running = undefined;
      });
  }

  /** Resolves once no eviction runs. */
  async done(): Promise<void> {
    await this.running;
    this.logDropped();
  }

  private async evict(): Promise<void> {
    const { pool, limits } = this.options;
    const limit = await quarantineLimit(limits);
    const room = limit * roomShare;
    for (;;) {
      const { rows } = await pool.query<Evicted>(statement, [limit, limit - room, rowsPerStatement]);
      const { bytes, evicted } = rows[0]!;
      this.count(evicted);
      const left = bytes - evicted.reduce((sum, one) => sum + one.bytes, 0);
      this.room = Math.min(room, limit - left);
      if (left <= limit || evicted.length === 0) return;
    }
  }

  private count(evicted: Evicted['evicted']): void {
    for (const { reason, count, replayed } of evicted) {
      if (!replayed) this.options.observe?.evicted?.(reason, count);
      this.unlogged[replayed ? 'replayed' : 'dropped'] += count;
    }
    if (performance.now() - this.loggedAt > logEveryMs) this.logDropped();
  }

  private logDropped(): void {
    const { dropped, replayed } = this.unlogged;
    if (dropped + replayed === 0) return;
    this.loggedAt = performance.now();
    this.unlogged = { dropped: 0, replayed: 0 };
    const text = 'quarantine full: bodies dropped, replayed ones first, then the oldest';
    this.options.log.warn({ dropped, replayed, limit: this.options.limits.bytes }, text);
  }
}
