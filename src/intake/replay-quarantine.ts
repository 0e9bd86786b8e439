import type { Kysely } from 'kysely';
import { markReplayed, type QuarantineFilter, readQuarantine } from './quarantine-rows.ts';
import type { Tables } from '../store/tables.ts';
import { type Readmission, type ReadmitParts, readmit } from './intake.ts';

/**
 * Tries rows of the quarantine again, one after the other, and notes those that were taken in.
 *
 * @param parts without an inbox nothing changes
 * @returns what became of each row
 * @throws Unavailable where one fits but cannot be stored now
 */
export async function* readmitRows(
  db: Kysely<Tables>,
  filter: QuarantineFilter,
  parts: ReadmitParts,
): AsyncGenerator<{ quarantineId: string; result: Readmission }> {
  for await (const { id, body } of readQuarantine(db, filter)) {
    const result = await readmit(body, parts);
    if (parts.inbox && result.outcome !== 'still refused') await markReplayed(db, id);
    yield { quarantineId: id, result };
  }
}
