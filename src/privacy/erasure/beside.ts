import { sql } from 'kysely';
import type { Db } from '../../store/tables.ts';
import { idsOf, names, type Patient } from '../find-deliveries.ts';
import { isListedIn } from './erase-rows.ts';

/** Other ids in the callbacks that name a patient, and in how many: of the same patient, or of other people. */
export async function findIdsBeside(db: Db, patient: Patient): Promise<{ id: string; callbacks: number }[]> {
  const { rows } = await sql<{ id: string; callbacks: number }>`
    select named.id, count(*)::int as callbacks
    from inbox i cross join lateral unnest(patients_of(i.envelope, i.patients)) as named (id)
    where ${names(patient)} and named.id <> all(${idsOf(patient)}::text[])
    group by named.id order by callbacks desc, named.id`.execute(db);
  return rows;
}

/** More bodies than these are not listed. */
export const maxMentions = 100;

export interface Mention {
  id: string;
  source: 'deliveries' | 'quarantine';
}

/**
 * Bodies that contain an id of the patient as text, and not under a key that names a patient: of events that no family lists, and
 * rejected ones. An erasure leaves them, unless a person names them.
 *
 * @param listId of the patient's deliveries in the table `erasing`
 * @param quarantine rejected bodies that name the patient
 */
export async function findMentions(
  db: Db,
  patient: Patient,
  { listId, quarantine }: { listId: string; quarantine: readonly string[] },
): Promise<Mention[]> {
  const ids = idsOf(patient);
  const businessId = patient.businessId ?? null;
  const { rows } = await sql<Mention>`
    with sought as (
      select lower(in_json) as in_json, lower(encode(convert_to(id, 'UTF8'), 'escape')) as in_bytes
      from unnest(${ids}::text[], ${ids.map((id) => JSON.stringify(id).slice(1, -1))}::text[]) as ids (id, in_json)
    )
    select id, 'deliveries' as source from inbox i
    where family = 'other' and (${businessId}::text is null or business_id in ('', ${businessId}))
      and not ${isListedIn(listId)(sql`i.id`)}
      and exists (select from sought where strpos(lower(i.envelope::text), in_json) > 0)
    union all
    select id, 'quarantine' from quarantine q
    where id <> all(${quarantine}::uuid[])
      and (${businessId}::text is null or coalesce(business_id, '') in ('', ${businessId}))
      and exists (select from sought where strpos(lower(encode(q.body, 'escape')), in_bytes) > 0)
    limit ${maxMentions + 1}`.execute(db);
  return rows;
}
