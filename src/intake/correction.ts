import { sql } from 'kysely';
import type { Db } from '../store/tables.ts';
import type { Intake, Reassessment } from './intake.ts';
import type { QuarantinedBody } from './list-quarantine.ts';
import { quarantineId } from './quarantine.ts';
import { replayQuarantine } from './replay-quarantine.ts';

type Corrected = Pick<QuarantinedBody, 'id' | 'path' | 'reason' | 'errors' | 'acknowledged'>;

/**
 * Replays a corrected body in the place of a rejected one. It is stored beside that first, and one statement marks both
 * as replayed: after a crash in between, the correction is in the quarantine, and only that is replayed. A correction that
 * is rejected is not stored; neither are two corrections of one body at the same time.
 *
 * @param record called when the correction is valid, before it is stored
 * @throws Unavailable
 */
export async function replayCorrection(
  db: Db,
  intake: Pick<Intake, 'replay' | 'quarantineBody'>,
  { id: corrects, path, reason, errors, acknowledged }: Corrected,
  body: Buffer,
  record: () => Promise<void>,
): Promise<Reassessment> {
  const assessed = await intake.replay(body, path, { dryRun: true });
  if (assessed.outcome === 'rejected') return assessed;
  await record();
  await intake.quarantineBody({ path, reason, errors, acknowledged, body, corrects });
  const id = quarantineId({ path, body });
  const remove = async (reason: string): Promise<Reassessment> => {
    await sql`
      delete from quarantine
      where id = ${id}::uuid and corrects = ${corrects}::uuid and count = 1`.execute(db);
    return { outcome: 'rejected', reason, errors: [] };
  };
  const { rows: others } = await sql`
    select from quarantine where corrects = ${corrects}::uuid and id <> ${id}::uuid`.execute(db);
  if (others.length > 0) return remove('Somebody else is correcting this body. Reload the page.');
  const { accepted, reasons } = await replayQuarantine(db, { id }, intake, { dryRun: false });
  if (accepted > 0 || assessed.outcome === 'expired') return assessed;
  const [rejected] = reasons;
  // PostgreSQL rejects what the schemas accept.
  if (rejected) return remove(rejected.message);
  return { outcome: 'erased', id: assessed.id };
}
