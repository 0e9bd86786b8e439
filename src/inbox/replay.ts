import { type Selectable, sql } from 'kysely';
import type { Core } from '../receiver/feature.ts';
import { createIntake, type ReplayResult } from '../receiver/intake/intake.ts';
import { readRejected } from '../receiver/intake/quarantine-body.ts';
import { createDatabaseClock } from '../receiver/store/clock.ts';
import type { Db, Tables } from '../receiver/store/tables.ts';

export type Quarantined = Selectable<Tables['receiver.quarantine']>;

/** SQL for a hash of what rejected bodies have in common. An error has no values of its body. */
export const causeOfRejection = sql<string>`md5(jsonb_build_array(family, reason, errors)::text)`;

/** Those that were not replayed, the last to arrive first. */
export const listQuarantine = (db: Db, { cause, limit }: { cause?: string; limit?: number } = {}) =>
  db
    .selectFrom('receiver.quarantine')
    .select(['id', 'path', 'business_id', 'reason', 'errors', 'acknowledged', 'count', 'last_received_at'])
    .where('replayed_at', 'is', null)
    .$if(cause !== undefined, (query) => query.where(causeOfRejection, '=', cause!))
    .orderBy('last_received_at', 'desc')
    .orderBy('id', 'desc')
    .$if(limit !== undefined, (query) => query.limit(limit!))
    .execute();

/** `subjects`: the patients that its readable part names. */
export async function readQuarantined({ db, families }: Core, id: string): Promise<Quarantined | undefined> {
  const row = await db.selectFrom('receiver.quarantine').selectAll().where('id', '=', id).executeTakeFirst();
  return row && { ...row, subjects: readRejected(families, row.body, row.family).names };
}

/**
 * Receives bodies again, with the current families and filters of clients and businesses. An accepted body is marked as
 * replayed, and its delivery keeps the time of arrival; of another one it is kept what is wrong with it now.
 *
 * @returns a result for each that was not replayed before
 * @throws Unavailable
 */
export async function replayQuarantined(
  core: Core,
  ids: readonly string[],
  options: { dryRun?: boolean; onProgress?: () => void } = {},
): Promise<Map<string, ReplayResult>> {
  const { dryRun = false, onProgress } = options;
  const { config, families, pool, db, log } = core;
  const circuit = { run: <T>(call: () => Promise<T>) => call() };
  const clock = createDatabaseClock(pool, {});
  await clock.refresh();
  // The sweep finds what was stored.
  const intake = createIntake({ config, families, pool, circuit, clock, log });
  const results = new Map<string, ReplayResult>();
  try {
    for (const id of ids) {
      const row = await readQuarantined(core, id);
      if (!row || row.replayed_at) continue;
      const receivedAt = row.received_at.getTime() * 1000;
      const result = await intake.replay(row.body, { dryRun, family: row.family, receivedAt });
      results.set(id, result);
      // A family that is new by now may say whose it is.
      const { subjects } = readRejected(families, row.body, row.family);
      const change =
        result.outcome === 'rejected'
          ? { reason: result.rejection.reason, errors: JSON.stringify(result.rejection.errors) }
          : { replayed_at: new Date(), subjects };
      if (!dryRun && result.outcome !== 'expired')
        await db.updateTable('receiver.quarantine').set(change).where('id', '=', id).execute();
      onProgress?.();
    }
  } finally {
    await intake.close();
  }
  return results;
}
