import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../store/tables.ts';

/**
 * Makes a step see every hold that was confirmed: a hold waits for the step that began before it, and a step for an erasure.
 */
export async function lockHolds(tx: Db): Promise<void> {
  await sql`lock table erased in row share mode`.execute(tx);
  await sql`lock table patient_holds in share mode`.execute(tx);
}

/** Whether one of some patients, an array, is held. The hashes are only computed where there are holds. */
export const namesHeld = (business: RawBuilder<unknown>, patients: RawBuilder<unknown>) => sql<boolean>`(
  exists (select from patient_holds) and exists (
    select from unnest(${patients}) as named join patient_holds h
      on h.hash = any(patient_hashes((select salt from erasure_salt), ${business}, named))
  ))`;
