import type { Kysely } from 'kysely';
import type { Tables } from '../store/tables.ts';
import type { Intake, Reassessment } from './intake.ts';
import { markReplayed, type QuarantineFilter, readQuarantine } from './quarantine-rows.ts';

/**
 * Replays rows of the quarantine, one after the other, and marks those that were accepted.
 *
 * @param options `dryRun`: nothing changes
 * @returns what became of each row
 * @throws Unavailable
 */
export async function* replayQuarantine(
  db: Kysely<Tables>,
  filter: QuarantineFilter,
  intake: Pick<Intake, 'replay'>,
  options: { dryRun: boolean },
): AsyncGenerator<{ quarantineId: string; result: Reassessment }> {
  for await (const { id, body } of readQuarantine(db, filter)) {
    const result = await intake.replay(body, options);
    if (!options.dryRun && result.outcome !== 'rejected') await markReplayed(db, id);
    yield { quarantineId: id, result };
  }
}
