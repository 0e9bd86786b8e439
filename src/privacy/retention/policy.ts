import { type RawBuilder, sql } from 'kysely';
import type { Family } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';
import type { Counts } from '../counts.ts';
import type { Actor } from '../log/access-log.ts';

/** The name of a policy, as in `Retention`, or `erased`; and the number of rows that a step deleted. */
export type Step = [policy: string, deleted: Counts];

export interface Pass {
  db: Db;
  families: readonly Family[];
  /** By policy: what is older goes. */
  cutoffs: Readonly<Record<string, Date>>;
  /** Nothing changes. */
  dryRun: boolean;
  actor: Actor;
  /** Runs a step in a transaction of its own; a dry run rolls it back. */
  inTransaction: <T>(run: (tx: Db) => Promise<T>) => Promise<T>;
}

/** Makes a step see every confirmed hold: a hold waits for the step that began before it, and a step for an erasure. */
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
