import { sql } from 'kysely';
import type { Db } from '../../store/tables.ts';
import { allowBitmaps, idsOf, names, type Patient } from '../find-deliveries.ts';
import { type Access, type Actor, logAccess } from '../log/access-log.ts';

/** The patient of an erasure that has begun and is not complete, and how far it is. */
export interface Running extends Patient {
  actor: Actor;
  /** The hashes of the patient, once `isFound`. */
  patients: Buffer[];
  isFound: boolean;
  /** The ids of other bodies that are erased, too. */
  also: string[];
}

/** Undefined: it is complete. */
export async function readRunning(db: Db, id: string, lock = sql``): Promise<Running | undefined> {
  const { rows } = await sql<Running>`
    select patient_id as id, business_id as "businessId", linked, actor, patients, is_found as "isFound",
           also
    from running_erasures where erasure_id = ${id} ${lock}`.execute(db);
  const [row] = rows;
  return row && { ...row, businessId: row.businessId ?? undefined };
}

export const lockRunning = (tx: Db, id: string) => readRunning(tx, id, sql`for update`);

/** Whether an erasure of the patient is running, in this business or in every one. */
export async function isBeingErased(db: Db, { id, businessId }: Patient): Promise<boolean> {
  const { rows } = await sql<{ running: boolean }>`
    select exists (
      select from running_erasures
      where (patient_id = ${id} or ${id} = any(linked)) and (business_id is null or business_id = ${businessId ?? null} or ${!businessId})
    ) as running`.execute(db);
  return rows[0]!.running;
}

/**
 * Commits what refuses the patient: up to now, or to the last event that is there already. An interrupted erasure of the same
 * patient begins anew.
 */
export async function beginErasure(
  tx: Db,
  patient: Patient,
  also: readonly string[],
  actor: Actor,
): Promise<string> {
  const { id, businessId, linked = [] } = patient;
  await allowBitmaps(tx);
  // Before the table of hashes is locked.
  const { rows: last } = await sql<{ time: string | null }>`
    select max(event_time)::text as time from inbox i where ${names(patient)}`.execute(tx);
  const { rows: again } = await sql<{ id: string }>`
    update running_erasures set is_found = false, linked = ${linked}::text[], also = ${also}::uuid[]
    where patient_id = ${id} and business_id is not distinct from ${businessId ?? null}
    returning erasure_id as id`.execute(tx);
  const erasureId = again[0]?.id ?? (await insertRunning(tx, patient, also, actor));
  await sql`
    insert into erased (hash, until, erasure_id)
    select patient_hash(salt, ${businessId ?? ''}, one), greatest(clock_timestamp(), ${last[0]!.time}::timestamptz),
           ${erasureId}::uuid
    from erasure_salt cross join unnest(${idsOf(patient)}::text[]) as one
    order by 1
    on conflict (hash) do update
      set until = greatest(erased.until, excluded.until), erasure_id = excluded.erasure_id`.execute(tx);
  await logErasure(tx, patient, { actor, filter: { begun: erasureId } });
  return erasureId;
}

async function insertRunning(
  tx: Db,
  { id, businessId, linked = [] }: Patient,
  also: readonly string[],
  actor: Actor,
) {
  const { rows } = await sql<{ id: string }>`
    with certificate as (insert into erasures (erased_by, counts) values (${actor.id}, '{}') returning id)
    insert into running_erasures (erasure_id, actor, patient_id, business_id, linked, also)
    select id, ${JSON.stringify(actor)}::jsonb, ${id}, ${businessId ?? null}, ${linked}::text[], ${also}::uuid[] from certificate
    returning erasure_id as id`.execute(tx);
  return rows[0]!.id;
}

/** Lists the patient's records, so that no callback brings them back: one about the patient, or one that names nobody. */
export async function listRecordsAsErased(tx: Db, patient: Patient, erasureId: string): Promise<void> {
  await sql`
    insert into erased (hash, until, erasure_id)
    select distinct thing_hash(erasure_salt.salt, records.thing_family, records.business_id, named.patient, records.thing),
           timestamptz 'infinity', ${erasureId}::uuid
    from (
      select thing_family, business_id, thing, bool_or(is_shared) as is_shared from erasing
      where erasure_id = ${erasureId}::uuid and thing is not null group by thing_family, business_id, thing
    ) records
    cross join erasure_salt
    cross join lateral (select unnest(${idsOf(patient)}::text[]) as patient union all select '' where not records.is_shared) named
    order by 1
    on conflict (hash) do update
      set until = greatest(erased.until, excluded.until), erasure_id = excluded.erasure_id`.execute(tx);
}

/** The hashes of a patient, of every business and of those of the listed deliveries. */
export async function readHashes(tx: Db, patient: Patient, listId: string): Promise<Buffer[]> {
  const { rows } = await sql<{ hash: Buffer }>`
    select patient_hash(erasure_salt.salt, businesses.business, one) as hash
    from erasure_salt cross join (
      select '' as business
      union select ${patient.businessId ?? ''}
      union select distinct business_id from erasing where erasure_id = ${listId}::uuid
    ) businesses cross join unnest(${idsOf(patient)}::text[]) as one`.execute(tx);
  return rows.map(({ hash }) => hash);
}

/** Adds the beginning or the end of an erasure to the access log. */
export async function logErasure(
  tx: Db,
  patient: Patient,
  { filter, ...access }: Pick<Access, 'actor' | 'filter' | 'rows'>,
): Promise<void> {
  const whose = { patients: idsOf(patient), anonymous: true };
  const { businessId } = patient;
  await logAccess(tx, {
    ...access,
    ...whose,
    action: 'erase',
    filter: { ...filter, ...(businessId && { business: businessId }) },
  });
}
