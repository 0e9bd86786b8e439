import { CompiledQuery, sql } from 'kysely';
import type { Db } from './tables.ts';
import { planForAnySize } from './transaction-settings.ts';

/** Runs a statement that is not written with Kysely. */
export async function runText<Row>(db: Db, text: string, values: unknown[]): Promise<Row[]> {
  return (await db.executeQuery(CompiledQuery.raw(text, values) as CompiledQuery<Row>)).rows;
}

interface TransactionOptions {
  /** Whether it is rolled back. */
  dryRun?: boolean;
  /** How long a statement waits for a lock. Default: the session's. */
  lockTimeoutMs?: number | undefined;
}

/** Runs a transaction with the settings `planForAnySize`. */
export async function withPlanForAnySize<T>(
  db: Db,
  run: (tx: Db) => Promise<T>,
  { dryRun = false, lockTimeoutMs }: TransactionOptions = {},
): Promise<T> {
  const tx = await db.startTransaction().execute();
  try {
    await setPlanForAnySize(tx, lockTimeoutMs);
    const result = await run(tx);
    await (dryRun ? tx.rollback() : tx.commit()).execute();
    return result;
  } catch (error) {
    await tx.rollback().execute();
    throw error;
  }
}

export async function setPlanForAnySize(tx: Db, lockTimeoutMs?: number): Promise<void> {
  const lockTimeout = lockTimeoutMs === undefined ? {} : { lock_timeout: lockTimeoutMs };
  const settings = Object.entries({ ...planForAnySize, ...lockTimeout }).map(
    ([name, value]) => sql`set_config(${name}, ${String(value)}, true)`,
  );
  await sql`select ${sql.join(settings)}`.execute(tx);
}

/** Lets a transaction that only reads wait for its reader for as long as that takes: nobody waits for it. */
export const mayBeIdle = 'set local idle_in_transaction_session_timeout = 0';
