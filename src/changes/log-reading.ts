import { erasePseudonyms } from '../privacy/erasure/erase-pseudonyms.ts';
import { type Actor, logAccess } from '../privacy/log/access-log.ts';
import type { Db } from '../store/tables.ts';

/** What was read of the feed with personal columns. */
export interface Reading {
  records: number;
  patients: readonly string[];
}

/**
 * Adds an entry to the access log about changes that were read with personal columns, before they are given to anybody. A patient
 * who was erased since the reading is not named by it.
 *
 * @param filter the selection
 * @throws the database's error
 */
export async function logReading(
  db: Db,
  { records, patients }: Reading,
  actor: Actor,
  filter: { families: readonly string[]; businessId: string | undefined },
): Promise<void> {
  if (records === 0) return;
  await logAccess(db, { actor, action: 'changes', patients, filter, rows: records });
  await erasePseudonyms(db, patients);
}
