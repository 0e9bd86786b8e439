import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { isLocked } from '../../store/faults.ts';
import type { Db } from '../../store/tables.ts';
import { withPlanForAnySize } from '../../store/transactions.ts';

/** Raised where the statements in progress do not end in time. What is written stays, so that it can be continued. */
export class ErasureDelayed extends Error {
  constructor(cause?: unknown) {
    super(
      'Other transactions hold locks on the deliveries. Nothing was erased yet; a worker continues the erasure, or try again later.',
      { cause },
    );
    this.name = 'ErasureDelayed';
  }
}

/** Raised where a table of somebody else refers to rows that are to be erased. Nothing is erased until that has ended. */
export class ErasureBlocked extends Error {
  constructor({ schema, table, constraint }: pg.DatabaseError, options: ErrorOptions) {
    super(
      `Nothing was erased: rows of table ${schema}.${table} refer to what is to be erased, by the foreign key ${constraint}. ` +
        'Give it "on delete cascade", or delete these rows. A worker then continues the erasure by itself, or run `receiver patient erase` again.',
      options,
    );
    this.name = 'ErasureBlocked';
  }
}

const foreignKeyViolation = '23503';

// New statements queue behind the lock: it must be given up before the inbox considers PostgreSQL unavailable (0.8 s).
const lockTimeoutMs = 400;
const pauseMs = 400;
const attempts = 50;

/**
 * Waits until the statements that store or apply deliveries, and steps of the retention, have ended as far as they began
 * before: those that begin later see what is committed now. The lock is released at once, and nothing is done under it;
 * so a callback waits for the lock's timeout at most.
 *
 * @throws ErasureDelayed
 */
export async function afterStatementsInProgress(db: Db): Promise<void> {
  await retried(() =>
    db.transaction().execute(async (tx) => {
      await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(tx);
      // Conflicts with the share lock of the statements that store and apply, and not with pg_dump or a vacuum of inbox.
      await sql`lock table erased in exclusive mode`.execute(tx);
    }),
  );
}

/** Runs a step in a transaction, without a limit of time, and again after a deadlock. @throws ErasureDelayed, ErasureBlocked */
export const inStep = <T>(db: Db, step: (tx: Db) => Promise<T>): Promise<T> =>
  retried(() =>
    withPlanForAnySize(db, async (tx) => {
      await sql`set local statement_timeout = 0`.execute(tx);
      return step(tx);
    }),
  );

/**
 * Lets one transaction at a time erase, or wait for those that do. The row is one that only the receiver may lock, unlike an
 * advisory lock.
 *
 * @returns whether it is locked: always, unless `skip` is set
 */
export async function lockErasures(tx: Db, { skip = false } = {}): Promise<boolean> {
  await sql`insert into lease_tokens (name) values ('erasure') on conflict do nothing`.execute(tx);
  const { rows } = await sql`
    select from lease_tokens where name = 'erasure' for update ${skip ? sql`skip locked` : sql``}`.execute(
    tx,
  );
  return rows.length > 0;
}

async function retried<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (error instanceof pg.DatabaseError && error.code === foreignKeyViolation)
        throw new ErasureBlocked(error, { cause: error });
      if (!isLocked(error)) throw error;
      if (attempt === attempts) throw new ErasureDelayed(error);
    }
    await sleep(pauseMs);
  }
}
