import { sql } from 'kysely';
import type { RunningCore } from '../receiver/feature.ts';

const queryMs = 20_000;
/** The gate has the ids that callbacks of erased patients had. */
const missing = `
  select id from unnest($1::uuid[]) as known(id)
  where id not in (select id from receiver.inbox where id = any($1))
    and not exists (select from receiver.erased_of(array['d:' || id]))`;

/**
 * Records which of the callbacks that this receiver has acknowledged the database no longer has: a standby that followed
 * asynchronously, or a backup, has taken its place. @throws the database's error
 */
export function createLossRecorder({ pool, db, log, process: { listRecent } }: RunningCore) {
  const counted = new Set<string>();
  return async (): Promise<void> => {
    const stored = (listRecent?.() ?? []).filter(({ id }) => !counted.has(id));
    if (stored.length === 0) return;
    const values = [stored.map(({ id }) => id)];
    const { rows } = await pool.query<{ id: string }>({ text: missing, values, query_timeout: queryMs });
    const ids = new Set(rows.map(({ id }) => id));
    const lost = stored.filter(({ id }) => ids.has(id));
    if (lost.length === 0) return;
    const [first, last] = [lost[0]!, lost.at(-1)!];
    log.error({ count: lost.length, delivery: first.id }, 'the database has lost acknowledged callbacks');
    const timeOf = ({ at }: { at: number }) => sql<Date>`to_timestamp(${at / 1000}::float8)`;
    const times = { first_at: timeOf(first), last_at: timeOf(last) };
    await db
      .insertInto('receiver.counters')
      .values({ name: 'lost', key: first.id, count: lost.length, ...times })
      // Sent again, and lost again.
      .onConflict((row) => row.columns(['name', 'key']).doUpdateSet({ count: lost.length, ...times }))
      .execute();
    for (const { id } of lost) counted.add(id);
  };
}
