import { sql } from 'kysely';
import type { Db } from '../../store/tables.ts';
import { isNamed } from '../find-deliveries.ts';

/**
 * The access log names erased patients no more, unless something of them came later.
 *
 * @param patients only of these; during an erasure their rows may still be there
 */
export async function erasePseudonyms(db: Db, patients?: readonly string[]): Promise<void> {
  const isGone = sql`not ${isNamed(sql`p.patient_id`)}`;
  await sql`
    delete from patient_pseudonyms p using erased e
    where e.hash = p.pseudonym and ${
      patients
        ? sql`p.patient_id = any(${patients}::text[]) and (exists (select from erasing) or ${isGone})`
        : isGone
    }`.execute(db);
}
