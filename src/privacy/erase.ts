import { type Kysely, sql } from 'kysely';
import { applyAgain } from '../apply/apply.ts';
import type { Family } from '../families/index.ts';
import type { Tables } from '../store/tables.ts';
import { type Actor, logAccess } from './access-log.ts';
import { deleteDeliveries } from './delete-deliveries.ts';
import { eraseQuarantined, findInQuarantine } from './erase-quarantine.ts';
import { whileNothingIsStored } from './erasure-lock.ts';
import {
  findApplied,
  findDeliveries,
  isAbout,
  type Patient,
  type PatientDeliveries,
  type Thing,
} from './find-deliveries.ts';
import { keepTotals, type Withholding, withhold, withholdDeliveries } from './withhold.ts';

/** The certificate of an erasure, without personal data. */
export interface Certificate {
  id: string;
  erased_at: Date;
  erased_by: string;
  /** Rows that were erased, by table; `withheld`: rows that wait for their destruction. */
  counts: Record<string, number>;
  /** When the last of what is withheld is due; null: nothing is withheld. */
  destroy_after: Date | null;
  destroyed_at: Date | null;
}

export const certificateColumns = sql`id, erased_at, erased_by, counts, destroy_after, destroyed_at`;

export interface ErasureOptions {
  actor: Actor;
  /** How long erased data is withheld, from its receipt, in milliseconds. */
  keepMs: number;
  /** Whether the amounts of erased receipts stay in the totals of past days. */
  keepsTotals: boolean;
  /** Everything is rolled back. */
  dryRun?: boolean;
}

/**
 * Erases a patient, in one transaction: deliveries that name the patient in any of the three spellings, deliveries about
 * the same things that name nobody, the rows made of them, and bodies in the quarantine. What names another patient
 * stays. None of it comes back: a resend, a replay, or what lies in the fallback store is recognised by its hashes.
 *
 * @throws ErasureDelayed where the deliveries in progress do not end in time
 */
export async function erasePatient(
  db: Kysely<Tables>,
  families: readonly Family[],
  patient: Patient,
  options: ErasureOptions,
): Promise<Certificate> {
  const { actor, dryRun = false } = options;
  return whileNothingIsStored(db, dryRun, async (tx) => {
    const found = await findDeliveries(tx, families, patient);
    const erasureId = await beginCertificate(tx, actor);
    const patients = await readHashes(tx, patient, found.things);
    await listAsErased(tx, patient, found, erasureId);
    const withholding = { erasureId, patients, keepMs: options.keepMs };
    const counts = await eraseDeliveries(tx, families, found, withholding, options.keepsTotals);
    const inQuarantine = await findInQuarantine(tx, families, patient, found.own);
    counts.quarantine = await eraseQuarantined(tx, inQuarantine, withholding);
    await erasePseudonym(tx, patient, withholding);
    const certificate = await completeCertificate(tx, erasureId, counts);
    const business = patient.businessId && { business: patient.businessId };
    if (!dryRun) {
      await logAccess(tx, {
        actor,
        action: 'erase',
        patients: [patient.id],
        anonymous: true,
        filter: { erasure: erasureId, ...business },
        rows: found.ids.length + inQuarantine.length,
      });
    }
    return certificate;
  });
}

/**
 * Erases deliveries: copies them to the schema `withheld`, deletes them with the rows made of them, and makes the rows of
 * the deliveries that remain about the same things.
 *
 * @returns the number of rows by table
 */
export async function eraseDeliveries(
  tx: Kysely<Tables>,
  families: readonly Family[],
  { ids, things }: Pick<PatientDeliveries, 'ids' | 'things'>,
  withholding: Withholding,
  keepsTotals: boolean,
): Promise<Record<string, number>> {
  const withheld = await withholdDeliveries(tx, families, ids, withholding);
  const receipt = families.find(({ table }) => table === 'receipts');
  if (keepsTotals && receipt) await keepTotals(tx, receipt, ids);
  const counts = await deleteDeliveries(tx, families, ids);
  // Their values may be the patient's.
  await sql`delete from schema_drift where kind in ('unknown', 'value') and example_delivery = any(${ids}::uuid[])`.execute(
    tx,
  );
  // Where there are versions, the newest of those that remain is the row already.
  const others = families.filter(({ versions }) => !versions);
  await applyAgain(tx, others, await findApplied(tx, others, things));
  return { ...counts, withheld };
}

async function beginCertificate(tx: Kysely<Tables>, { id }: Actor): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into erasures (erased_by, counts) values (${id}, '{}') returning id`.execute(tx);
  return rows[0]!.id;
}

async function completeCertificate(
  tx: Kysely<Tables>,
  id: string,
  counts: Record<string, number>,
): Promise<Certificate> {
  const { rows } = await sql<Certificate>`
    with due as (select max(destroy_at) as last from withheld.records where erasure_id = ${id}::uuid)
    update erasures
    set counts = ${JSON.stringify(counts)}::jsonb, destroy_after = due.last,
        destroyed_at = case when due.last is null then erased_at end
    from due where id = ${id}::uuid
    returning ${certificateColumns}`.execute(tx);
  return rows[0]!;
}

/** The hashes of a patient, of every business and of those of the things. */
async function readHashes(
  tx: Kysely<Tables>,
  { id, businessId }: Patient,
  things: readonly Thing[],
): Promise<Buffer[]> {
  const businesses = new Set([
    '',
    ...things.map(({ business_id }) => business_id),
    ...(businessId ? [businessId] : []),
  ]);
  const { rows } = await sql<{ hash: Buffer }>`
    select patient_hash(salt, business, ${id}) as hash
    from erasure_salt cross join unnest(${[...businesses]}::text[]) as business`.execute(tx);
  return rows.map(({ hash }) => hash);
}

/**
 * Lists what must not come back: the patient, up to now; and forever the patient's things, with the patient, and with
 * nobody where they are the patient's alone.
 */
async function listAsErased(
  tx: Kysely<Tables>,
  { id, businessId = '' }: Patient,
  { ids, things, own }: PatientDeliveries,
  erasureId: string,
): Promise<void> {
  const listed = [
    ...things.map((thing) => ({ ...thing, patient: id })),
    ...own.map((thing) => ({ ...thing, patient: '' })),
  ];
  const column = (name: keyof Thing | 'patient') => sql`${listed.map((thing) => thing[name])}::text[]`;
  await sql`
    insert into erased (hash, until, erasure_id)
    select patient_hash(salt, ${businessId}, ${id}),
           greatest(now(), (select max(event_time) from inbox where id = any(${ids}::uuid[]))), ${erasureId}::uuid
    from erasure_salt
    union all
    select thing_hash(salt, listed.family, listed.business, listed.patient, listed.thing), 'infinity', ${erasureId}::uuid
    from erasure_salt
    cross join unnest(${column('family')}, ${column('business_id')}, ${column('patient')}, ${column('thing')})
      as listed (family, business, patient, thing)
    on conflict (hash) do update
      set until = greatest(erased.until, excluded.until), erasure_id = excluded.erasure_id`.execute(tx);
}

/** The access log names the patient no more, unless data of another business remains. */
async function erasePseudonym(tx: Kysely<Tables>, { id }: Patient, withholding: Withholding): Promise<void> {
  const pseudonym = sql`patient_pseudonyms p where p.patient_id = ${id} and p.pseudonym = any(${withholding.patients}::bytea[])
    and not exists (select from inbox i where ${isAbout(sql`${id}::text`)})`;
  await withhold(tx, 'patient_pseudonyms', sql`to_jsonb(p)`, sql`now()`, pseudonym, withholding);
  await sql`delete from ${pseudonym}`.execute(tx);
}
