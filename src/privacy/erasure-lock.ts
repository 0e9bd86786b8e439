import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { withPlanForAnySize } from '../apply/apply.ts';
import type { Tables } from '../store/tables.ts';

/** Raised where the statements in progress do not end in time. Nothing was changed. */
export class ErasureDelayed extends Error {
  constructor(cause: unknown) {
    super('Other transactions hold locks on the deliveries. Nothing was erased; try again later.', { cause });
    this.name = 'ErasureDelayed';
  }
}

// New statements queue behind the lock: it must be given up before the inbox considers PostgreSQL unavailable (0.8 s).
const lockTimeoutMs = 400;
const pauseMs = 400;
const attempts = 50;
// lock_not_available, deadlock_detected
const taken = new Set(['55P03', '40P01']);

/**
 * Runs a step in a transaction while no statement stores or applies deliveries: those in progress have ended, and new ones
 * wait until the transaction ends.
 *
 * @param isDryRun rolls the transaction back, and keeps no statement waiting
 * @throws ErasureDelayed; the error of the step
 */
export async function whileNothingIsStored<T>(
  db: Kysely<Tables>,
  isDryRun: boolean,
  step: (tx: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await withPlanForAnySize(db, lockedBefore(step, isDryRun), isDryRun);
    } catch (error) {
      if (!taken.has((error as { code?: string }).code ?? '')) throw error;
      if (attempt === attempts) throw new ErasureDelayed(error);
    }
    await sleep(pauseMs);
  }
}

const lockedBefore =
  <T>(step: (tx: Kysely<Tables>) => Promise<T>, isDryRun: boolean) =>
  async (tx: Kysely<Tables>) => {
    await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(tx);
    // Conflicts with the share lock of the statements that store and apply, and not with pg_dump or a vacuum of inbox.
    if (!isDryRun) await sql`lock table erased in exclusive mode`.execute(tx);
    return step(tx);
  };
