import { sql } from 'kysely';
import type { RunningCore } from '../receiver/feature.ts';

const queryMs = 20_000;
/** Of an erased patient's callback the gate has the id that it had. */
const missing = `
  select id from unnest($1::uuid[]) id
  where not exists (select from receiver.inbox i where i.id = id.id)
    and not exists (select from receiver.erased_of(array['d:' || id.id]))`;

/**
 * Records which of the callbacks that this receiver has acknowledged the database no longer has: a standby that followed
 * asynchronously, or a backup, has taken its place. @throws the database's error
 */
export function createLossRecorder({ pool, db, log, process: { recent } }: RunningCore) {
  return async (): Promise<void> => {
    const stored = recent?.list() ?? [];
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
    const row = { name: 'lost', key: first.id, count: lost.length, example: first.id, ...times };
    await db.insertInto('receiver.counters').values(row).execute();
    recent!.forget(ids);
  };
}
