import { sql } from 'kysely';
import { isRefusal } from '../store/faults.ts';
import type { Db } from '../store/tables.ts';
import { valueIn } from './explain.ts';
import type { Intake, Reassessment } from './intake.ts';
import type { QuarantinedBody } from './list-quarantine.ts';
import { quarantineId } from './quarantine.ts';
import { replayQuarantine } from './replay-quarantine.ts';

const segmentsOf = (pointer: string) => pointer.split('/').slice(1);

/** A value of a rejected body by its pointer, see `FieldError`; undefined: it is not there. */
export const valueAt = (document: unknown, pointer: string) => valueIn(document, segmentsOf(pointer));

/**
 * A body with other values of some fields. PostgreSQL changes them, so that numbers keep all their digits.
 *
 * @param changes JSON by pointer; an empty text removes the field
 * @returns undefined: PostgreSQL cannot read the body
 */
export async function changeFields(db: Db, body: Buffer, changes: Record<string, string>) {
  const changed = Object.entries(changes).reduce(
    (document, [pointer, value]) =>
      value === ''
        ? sql`${document} #- ${segmentsOf(pointer)}::text[]`
        : sql`jsonb_set(${document}, ${segmentsOf(pointer)}::text[], ${value}::jsonb)`,
    sql`convert_from(${body}::bytea, 'UTF8')::jsonb`,
  );
  try {
    const { rows } = await sql<{ text: string }>`select (${changed})::text as text`.execute(db);
    return Buffer.from(rows[0]!.text);
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

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
