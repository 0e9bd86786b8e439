import { sql } from 'kysely';
import type { Db } from '../store/tables.ts';
import { idsOf, type Patient } from './find-deliveries.ts';
import { type Actor, type Entry, logAccess, writeLine } from './log/access-log.ts';

/**
 * Places a hold on a patient: nothing of the patient is deleted by retention, and what was erased is not destroyed, until
 * the hold is released.
 *
 * @returns false where there is a hold already
 */
export async function holdPatient(db: Db, patient: Patient, actor: Actor): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    const { numAffectedRows } = await sql`
      insert into patient_holds (hash, held_by) select unnest(${hashesOf(patient)}), ${actor.id} from erasure_salt
      on conflict do nothing`.execute(tx);
    const isNew = numAffectedRows! > 0n;
    const filter = patient.businessId ? { business: patient.businessId } : {};
    // Anonymous: of an erased patient, nothing but a hash may be held.
    await logAccess(tx, {
      actor,
      action: 'hold',
      patients: idsOf(patient),
      anonymous: true,
      filter,
      rows: Number(numAffectedRows),
    });
    return isNew;
  });
}

/** Releases a hold. @returns false where there is none */
export async function releasePatient(db: Db, patient: Patient, actor: Actor): Promise<boolean> {
  const { id, name = null, address = null } = actor;
  let isReleased = false;
  for (const one of idsOf(patient)) {
    const { rows } = await sql<Entry & { is_released: boolean }>`
      select * from release_hold(${one}, ${patient.businessId ?? ''}, ${id}, ${name}, ${address})`.execute(
      db,
    );
    const { is_released, ...entry } = rows[0]!;
    writeLine(entry, { actor, action: 'release', rows: Number(is_released) });
    isReleased ||= is_released;
  }
  return isReleased;
}

/** Whether a hold is placed on a patient: on exactly this business, or on every one. */
export async function isHeld(db: Db, patient: Patient): Promise<boolean> {
  const { rows } = await sql<{ held: boolean }>`
    select exists (
      select from patient_holds cross join erasure_salt where hash = any(${hashesOf(patient)})) as held`.execute(
    db,
  );
  return rows[0]!.held;
}

const hashesOf = ({ businessId = '', ...patient }: Patient) =>
  sql`array(select patient_hash(salt, ${businessId}, one) from unnest(${idsOf(patient)}::text[]) as one)`;
