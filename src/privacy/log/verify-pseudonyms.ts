import { sql } from 'kysely';
import type { Db } from '../../store/tables.ts';

/** Actions whose entries keep no id of a patient, only the pseudonym. */
const anonymousActions = ['erase', 'hold', 'release', 'audit', 'erasures apply'];

/**
 * Checks the ids of patients beside the access log: each that an entry keeps is there, unless a later erasure removed it, and
 * belongs to its pseudonym. A list of erasures that was applied to a restored backup does not name them.
 */
export async function checkPseudonyms(trx: Db, report: (from: bigint, to: bigint, problem: string) => void) {
  const { rows } = await sql<{ from: string; to: string; missing: number; changed: number }>`
    with named as (
      select seen.pseudonym,
        max(l.entry) filter (
          where l.action <> all(${anonymousActions})
            and not (l.action in ('reveal', 'export') and l.rows is not distinct from 0)
        ) as kept,
        max(l.entry) filter (where l.action = 'erase') as erased
      from access_log l cross join unnest(l.patients) as seen (pseudonym)
      group by seen.pseudonym
    ), expected as (
      select named.pseudonym, named.kept from named
      where named.kept > coalesce(named.erased, 0)
        and named.kept > (select coalesce(max(l.entry), 0) from access_log l where l.action = 'erasures apply')
    ), wrong as (
      select e.kept, p.patient_id is null as missing
      from expected e left join patient_pseudonyms p on p.pseudonym = e.pseudonym
      where p.patient_id is null or p.pseudonym <> sha256(
        (select s.salt from erasure_salt s) || convert_to('patient:0::' || p.patient_id, 'UTF8'))
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
