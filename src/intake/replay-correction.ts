import { type Kysely, sql } from 'kysely';
import type { Tables } from '../store/tables.ts';
import type { Intake, Reassessment } from './intake.ts';
import { contentId } from './quarantine.ts';
import type { QuarantineRow } from './quarantine-rows.ts';
import { replayQuarantine } from './replay-quarantine.ts';

type Corrected = Pick<QuarantineRow, 'id' | 'path' | 'reason' | 'errors' | 'acknowledged'>;

/**
 * Replays a corrected body in the place of a rejected one. It is stored beside that first, and one statement marks both
 * as replayed: after a crash in between, the correction is in the quarantine, and only that is replayed. A correction that
 * is rejected is not stored.
 *
 * @param record called when the correction is valid, before it is stored
 * @throws Unavailable
 */
export async function replayCorrection(
  db: Kysely<Tables>,
  intake: Pick<Intake, 'replay' | 'quarantineBody'>,
  { id: corrects, path, reason, errors, acknowledged }: Corrected,
  body: Buffer,
  record: () => Promise<void>,
): Promise<Reassessment> {
  const assessed = await intake.replay(body, path, { dryRun: true });
  if (assessed.outcome === 'rejected') return assessed;
  await record();
  const correction = { path, reason, errors, acknowledged, body, corrects };
  await intake.quarantineBody(correction);
  const id = contentId(correction);
  const { accepted, reasons } = await replayQuarantine(db, { id }, intake, { dryRun: false });
  if (accepted > 0 || assessed.outcome === 'expired') return assessed;
  const [rejected] = reasons;
  if (!rejected) return { outcome: 'erased', id: assessed.id };
  // PostgreSQL rejects what the schemas accept.
  await sql`delete from quarantine where id = ${id}::uuid and corrects = ${corrects}::uuid and count = 1`.execute(
    db,
  );
  return { outcome: 'rejected', reason: rejected.message, errors: [] };
}
