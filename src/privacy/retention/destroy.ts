import { sql } from 'kysely';
import { analyze } from '../analyze.ts';
import { logAccess } from '../log/access-log.ts';
import { lockHolds, type Pass, type Step } from './policy.ts';

const recordsPerStep = 500;

/** Destroys withheld records that are due and not held, and completes the certificates of their erasures. */
export async function* destroyErased(pass: Pass): AsyncGenerator<Step> {
  const { db, cutoffs, inTransaction, dryRun, actor } = pass;
  if (dryRun) {
    const { rows } = await sql<{ due: number }>`
      select count(*)::int as due from withheld.records r
      where destroy_at <= ${cutoffs.erased}
        and not exists (select from patient_holds h where h.hash = any(r.patients))`.execute(db);
    if (rows[0]!.due > 0) yield ['erased', { 'withheld.records': rows[0]!.due }];
    return;
  }
  let destroyed = 0;
  try {
    for (;;) {
      const rows = await inTransaction(async (tx) => {
        await lockHolds(tx);
        const { rows: done } = await sql<{ destroyed: number }>`
          select destroy_withheld(${recordsPerStep})::float8 as destroyed`.execute(tx);
        return done[0]!.destroyed;
      });
      if (rows === 0) break;
      destroyed += rows;
      yield ['erased', { 'withheld.records': rows }];
    }
  } finally {
    await inTransaction(async (tx) => {
      const { rows } = await sql<{ id: string }>`
        update erasures e set destroyed_at = now()
        where destroyed_at is null and not exists (select from withheld.records r where r.erasure_id = e.id)
          and not exists (select from running_erasures running where running.erasure_id = e.id)
        returning id`.execute(tx);
      const erasures = rows.map(({ id }) => id);
      if (destroyed === 0 && erasures.length === 0) return;
      await logAccess(tx, { actor, action: 'destroy', filter: { completed: erasures }, rows: destroyed });
    });
  }
  if (destroyed > 0) await analyze(db, ['withheld.records']);
}
