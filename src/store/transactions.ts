import { CompiledQuery, sql } from 'kysely';
import type { Db } from './tables.ts';
import { planForAnySize } from './transaction-settings.ts';

/** Runs a statement that is not written with Kysely. */
export async function runText<Row>(db: Db, text: string, values: unknown[]): Promise<Row[]> {
  return (await db.executeQuery(CompiledQuery.raw(text, values) as CompiledQuery<Row>)).rows;
}

/** Runs a transaction with the settings `planForAnySize`. @param dryRun whether it is rolled back */
export async function withPlanForAnySize<T>(db: Db, run: (tx: Db) => Promise<T>, dryRun = false): Promise<T> {
  const tx = await db.startTransaction().execute();
  try {
    await setPlanForAnySize(tx);
    const result = await run(tx);
    await (dryRun ? tx.rollback() : tx.commit()).execute();
    return result;
  } catch (error) {
    await tx.rollback().execute();
    throw error;
  }
}

export async function setPlanForAnySize(tx: Db): Promise<void> {
  const settings = Object.entries(planForAnySize).map(
    ([name, value]) => sql`set_config(${name}, ${value}, true)`,
  );
  await sql`select ${sql.join(settings)}`.execute(tx);
}
