import { type Kysely, sql } from 'kysely';
import type { Tables } from '../store/tables.ts';

/** Actions whose entries keep no id of a patient, only the pseudonym. */
const anonymousActions = ['erase', 'hold', 'release', 'audit', 'erasures apply'];

/**
 * Checks the ids of patients beside the access log: each that an entry keeps is there, unless a later erasure removed it, and
 * belongs to its pseudonym. A list of erasures that was applied to a restored backup does not name them.
 */
export async function checkPseudonyms(
  trx: Kysely<Tables>,
  report: (from: bigint, to: bigint, problem: string) => void,
): Promise<void> {
  const { rows } = await sql<{ from: string; to: string; missing: number; changed: number }>`
    with named as (
      select pseudonym,
        max(entry) filter (
          where action <> all(${anonymousActions}) and not (action in ('reveal', 'export') and rows is not distinct from 0)
        ) as kept,
        max(entry) filter (where action = 'erase') as erased
      from access_log cross join unnest(patients) as pseudonym
      group by pseudonym
    ), expected as (
      select pseudonym, kept from named
      where kept > coalesce(erased, 0)
        and kept > (select coalesce(max(entry), 0) from access_log where action = 'erasures apply')
    ), wrong as (
      select kept, patient_id is null as missing
      from expected left join patient_pseudonyms using (pseudonym)
      where patient_id is null
        or pseudonym <> sha256((select salt from erasure_salt) || convert_to('patient:0::' || patient_id, 'UTF8'))
    )
    select min(kept) as from, max(kept) as to, (count(*) filter (where missing))::int as missing,
           (count(*) filter (where not missing))::int as changed
    from wrong having count(*) > 0`.execute(trx);
  for (const { from, to, missing, changed } of rows) {
    report(
      BigInt(from),
      BigInt(to),
      `patient_pseudonyms was changed: ${missing} ids of their patients are missing, ${changed} are of others`,
    );
  }
}
