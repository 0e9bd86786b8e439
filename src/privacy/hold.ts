import { type Kysely, sql } from 'kysely';
import type { Tables } from '../store/tables.ts';
import { type Actor, logAccess } from './access-log.ts';
import type { Patient } from './find-deliveries.ts';

/**
 * Places a hold on a patient: nothing of the patient is deleted by retention, and what was erased is not destroyed, until
 * the hold is released.
 *
 * @returns false where there is a hold already
 */
export async function holdPatient(db: Kysely<Tables>, patient: Patient, actor: Actor): Promise<boolean> {
  return change(
    db,
    patient,
    actor,
    'hold',
    (hash) => sql`
    insert into patient_holds (hash, held_by) select ${hash}, ${actor.id} from erasure_salt on conflict do nothing`,
  );
}

/** Releases a hold. @returns false where there is none */
export async function releasePatient(db: Kysely<Tables>, patient: Patient, actor: Actor): Promise<boolean> {
  return change(
    db,
    patient,
    actor,
    'release',
    (hash) => sql`
    delete from patient_holds using erasure_salt where hash = ${hash}`,
  );
}

/** Whether a hold is placed on a patient: on exactly this business, or on every one. */
export async function isHeld(db: Kysely<Tables>, patient: Patient): Promise<boolean> {
  const { rows } = await sql<{ held: boolean }>`
    select exists (select from patient_holds cross join erasure_salt where hash = ${hashOf(patient)}) as held`.execute(
    db,
  );
  return rows[0]!.held;
}

const hashOf = ({ id, businessId = '' }: Patient) => sql`patient_hash(salt, ${businessId}, ${id})`;

async function change(
  db: Kysely<Tables>,
  patient: Patient,
  actor: Actor,
  action: 'hold' | 'release',
  statement: (hash: ReturnType<typeof hashOf>) => ReturnType<typeof sql>,
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    const { numAffectedRows } = await statement(hashOf(patient)).execute(tx);
    const isChanged = numAffectedRows! > 0n;
    const filter = patient.businessId ? { business: patient.businessId } : {};
    // Anonymous: of an erased patient, nothing but a hash may be held.
    await logAccess(tx, {
      actor,
      action,
      patients: [patient.id],
      anonymous: true,
      filter,
      rows: Number(isChanged),
    });
    return isChanged;
  });
}
