import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { applyAgain, withPlanForAnySize } from '../../apply/apply.ts';
import { type Family, patientKeys } from '../../families/index.ts';
import { lockKey } from '../../store/advisory-lock.ts';
import type { Db } from '../../store/tables.ts';
import { analyze } from '../analyze.ts';
import { countHeld, tablesOf } from '../count-held.ts';
import { add, type Counts } from '../counts.ts';
import { deleteDeliveries } from '../delete-deliveries.ts';
import {
  allowBitmaps,
  findApplied,
  findDeliveries,
  findMoreAbout,
  idsOf,
  isNamed,
  listedIds,
  names,
  type Patient,
  type RecordKey,
} from '../find-deliveries.ts';
import { type Actor, logAccess } from '../log/access-log.ts';
import { eraseQuarantined, findInQuarantine } from './erase-quarantine.ts';
import { afterStatementsInProgress, inStep } from './erasure-lock.ts';
import { forgetDrift } from './forget-drift.ts';
import { findLinked, findOthers, type Others } from './linked-ids.ts';
import {
  findUncertain,
  hideUncertain,
  indexWords,
  listUncertain,
  listWordsAsErased,
  type UncertainBodies,
} from './uncertain.ts';
import { keepTotals, type Withholding, withhold, withholdDeliveries } from './withhold.ts';

/** The certificate of an erasure, without personal data. */
export interface Certificate {
  id: string;
  erased_at: Date;
  erased_by: string;
  /** Rows that were erased, by table; `withheld`: rows that wait for their destruction. */
  counts: Counts;
  /** When the last of what is withheld is due; null: nothing is withheld. */
  destroy_after: Date | null;
  destroyed_at: Date | null;
  /** The extent of the search; null: by a former version. */
  searched: Searched | null;
}

/** The extent of an erasure's search. */
export interface Searched {
  /** The keys under which the id was searched, at any depth, case and separators aside. */
  keys: readonly string[];
  /** The number of the patient's ids: the one that was given, and those that are linked to it. */
  ids: number;
  /** Where the ids were searched as words. */
  words: readonly string[];
  /** The number of bodies with an id as a word that were left to a person. */
  uncertain: number;
}

export const certificateColumns = sql`id, erased_at, erased_by, counts, destroy_after, destroyed_at, searched`;

export interface ErasureSettings {
  /** How long erased data is withheld, from its receipt, in milliseconds. */
  keepMs: number;
  /** Whether the amounts of erased receipts stay in the totals of past days. */
  keepsTotals: boolean;
}

interface ErasureObserver {
  /** Called when deliveries were deleted, with their number: before that is committed. */
  onProgress?: (count: number) => void;
  /** Called with the tables whose samples in pg_stats may contain erased values: this role may not analyze them. */
  onNotAnalyzed?: (tables: readonly string[]) => void;
}

export interface ErasureOptions extends ErasureSettings, ErasureObserver {
  actor: Actor;
}

const perPart = 1_000;
const pauseMs = 500;

/**
 * Erases a patient: deliveries that name the patient in any of the spellings, deliveries about the same records that name
 * nobody, the rows made of them, and bodies in the quarantine. What names another patient stays. None of it comes back: a
 * resend, a replay, or what lies in the fallback store is recognised by its hashes.
 *
 * Callbacks are accepted meanwhile. The hashes are committed first; then what they refuse is found and listed, in committed
 * steps; what is listed is withheld and deleted in one transaction, so that everybody sees all of it or nothing. A process
 * that ends meanwhile leaves a running erasure, see `continueErasures`.
 *
 * @throws ErasureDelayed where the statements in progress do not end in time
 */
export async function erasePatient(
  db: Db,
  families: readonly Family[],
  patient: Patient,
  options: ErasureOptions,
): Promise<Certificate> {
  await indexWords(db);
  const whole = await withLinked(db, patient);
  const id = await inStep(db, (tx) => beginErasure(tx, whole, options.actor));
  return continueErasure(db, families, id, options);
}

/** The effects of an erasure that has not run. */
export interface Preview {
  /** The rows that it would erase, by table. */
  counts: Counts;
  /** Other ids of the patient, which it would erase, too. */
  linked: readonly string[];
  others: Others;
  /** Bodies that it would leave to a person. */
  uncertain: UncertainBodies;
}

/** Counts what an erasure would erase, by table. Nothing but an index changes, and nobody waits. */
export async function previewErasure(
  db: Db,
  families: readonly Family[],
  given: Patient,
  { keepMs }: Pick<ErasureSettings, 'keepMs'>,
): Promise<Preview> {
  const erasureId = randomUUID();
  await indexWords(db);
  const patient = await withLinked(db, given);
  const others = await findOthers(db, patient);
  return withPlanForAnySize(
    db,
    async (tx) => {
      await sql`set local statement_timeout = 0`.execute(tx);
      await findDeliveries(tx, families, patient, erasureId);
      const counts = await countHeld(tx, families, erasureId);
      const found = Object.entries(counts).filter(([table, rows]) => rows > 0 || table === 'deliveries');
      await sql`insert into erasures (id, erased_by, counts) values (${erasureId}, '', '{}')`.execute(tx);
      const withholding = { erasureId, patients: await readHashes(tx, patient, erasureId), keepMs };
      let withheld = 0;
      for await (const ids of listedIds(tx, erasureId, perPart))
        withheld += await withholdDeliveries(tx, families, ids, withholding);
      const quarantine = await findInQuarantine(tx, families, patient, erasureId);
      const uncertain = await findUncertain(tx, patient, erasureId, quarantine);
      const all = { ...Object.fromEntries(found), withheld, quarantine: quarantine.length };
      return { counts: all, linked: patient.linked ?? [], others, uncertain };
    },
    true,
  );
}

/** An erasure that has begun and is not complete. */
interface Running {
  erasure_id: string;
  actor: Actor;
  patient_id: string;
  business_id: string | null;
  patients: Buffer[];
  is_found: boolean;
  linked: string[];
  uncertain_list: string;
}

/** The patient with all ids, trimmed. */
async function withLinked(db: Db, { id, businessId }: Patient): Promise<Patient> {
  const patient = { id: id.trim(), businessId };
  return { ...patient, linked: await findLinked(db, patient) };
}

/**
 * Continues the erasures that are not complete: after the end of the process that began them, or beside it.
 *
 * @param olderThanS only those that began so many seconds ago
 * @throws ErasureDelayed
 */
export async function continueErasures(
  db: Db,
  families: readonly Family[],
  settings: ErasureSettings & ErasureObserver,
  olderThanS = 0,
): Promise<Certificate[]> {
  const { rows } = await sql<Pick<Running, 'erasure_id'>>`
    select r.erasure_id
    from running_erasures r join erasures e on e.id = r.erasure_id
    where e.erased_at <= now() - ${olderThanS} * interval '1 second'
    order by e.erased_at, e.id`.execute(db);
  const certificates: Certificate[] = [];
  for (const { erasure_id } of rows)
    certificates.push(await continueErasure(db, families, erasure_id, settings));
  return certificates;
}

/** The tables of which an erasure has deleted rows. */
const changedTables = (families: readonly Family[], counts: Counts): string[] => [
  'inbox',
  'quarantine',
  'patient_pseudonyms',
  'running_erasures',
  'erasing',
  ...families.flatMap(tablesOf).filter((table) => counts[table]),
];

/** Each step can be repeated, also by two processes at the same time. */
async function continueErasure(
  db: Db,
  families: readonly Family[],
  id: string,
  settings: ErasureSettings & ErasureObserver,
): Promise<Certificate> {
  for (;;) {
    const running = await readRunning(db, id);
    if (!running) break;
    const patient = patientOf(running);
    if (!running.is_found) await find(db, families, patient, running);
    // Statements that began before the deliveries were listed may be applying them.
    await afterStatementsInProgress(db);
    const inQuarantine = await findInQuarantine(db, families, patient, id);
    const uncertain = await findUncertain(db, patient, id, inQuarantine);
    const { ids: others } = await findOthers(db, patient);
    const found = { others, certain: inQuarantine, uncertain: uncertain.quarantine };
    if (await inStep(db, (tx) => eraseListed(tx, families, id, found, settings))) break;
    await sleep(pauseMs);
  }
  const { rows } =
    await sql<Certificate>`select ${certificateColumns} from erasures where id = ${id}`.execute(db);
  const certificate = rows[0]!;
  const left = await analyze(db, changedTables(families, certificate.counts));
  if (left.length > 0) settings.onNotAnalyzed?.(left);
  return certificate;
}

const patientOf = ({ patient_id: id, business_id, linked }: Running): Patient => ({
  id,
  businessId: business_id ?? undefined,
  linked,
});

/** Lists the patient's deliveries and what must not come back. Twice: what came before that was committed is found, too. */
async function find(
  db: Db,
  families: readonly Family[],
  patient: Patient,
  { erasure_id: id, uncertain_list }: Running,
) {
  // From now on nothing that names the patient is stored, up to the moment of the erasure.
  await afterStatementsInProgress(db);
  const until = sql`i.event_time <= (select erased.until from erased cross join erasure_salt
    where erased.hash = patient_hash(erasure_salt.salt, ${patient.businessId ?? ''}, ${patient.id}))`;
  await inStep(db, async (tx) => {
    if ((await lockRunning(tx, id))?.is_found !== false) return;
    await findDeliveries(tx, families, patient, id, until);
    await listRecordsAsErased(tx, patient, id);
  });
  await afterStatementsInProgress(db);
  await inStep(db, async (tx) => {
    if ((await lockRunning(tx, id))?.is_found !== false) return;
    await findMoreAbout(tx, families, patient, id);
    const { deliveries } = await findUncertain(tx, patient, id, []);
    await listUncertain(tx, deliveries, uncertain_list);
    const patients = await readHashes(tx, patient, id);
    await sql`update erased_words set patients = ${patients}::bytea[] where erasure_id = ${id}`.execute(tx);
    await sql`
      update running_erasures set is_found = true, patients = ${patients}::bytea[] where erasure_id = ${id}`.execute(
      tx,
    );
  });
}

/** Undefined: it is complete. */
async function readRunning(db: Db, id: string, lock = sql``): Promise<Running | undefined> {
  const { rows } = await sql<Running>`
      select erasure_id, actor, patient_id, business_id, patients, is_found, linked, uncertain_list
      from running_erasures where erasure_id = ${id} ${lock}`.execute(db);
  return rows[0];
}

const lockRunning = (tx: Db, id: string) => readRunning(tx, id, sql`for update`);

/**
 * Commits what refuses the patient: up to now, or to the last event that is there already. An interrupted erasure of the same
 * patient begins anew.
 */
async function beginErasure(tx: Db, patient: Patient, actor: Actor): Promise<string> {
  const { id, businessId, linked = [] } = patient;
  await allowBitmaps(tx);
  // Before the table of hashes is locked.
  const { rows: last } = await sql<{ time: string | null }>`
    select max(event_time)::text as time from inbox i where ${names(patient)}`.execute(tx);
  const { rows: again } = await sql<{ id: string }>`
    update running_erasures set is_found = false, linked = ${linked}::text[]
    where patient_id = ${id} and business_id is not distinct from ${businessId ?? null}
    returning erasure_id as id`.execute(tx);
  const erasureId = again[0]?.id ?? (await insertRunning(tx, patient, actor));
  await sql`
    insert into erased (hash, until, erasure_id)
    select patient_hash(salt, ${businessId ?? ''}, one), greatest(clock_timestamp(), ${last[0]!.time}::timestamptz),
           ${erasureId}::uuid
    from erasure_salt cross join unnest(${idsOf(patient)}::text[]) as one
    order by 1
    on conflict (hash) do update
      set until = greatest(erased.until, excluded.until), erasure_id = excluded.erasure_id`.execute(tx);
  await listWordsAsErased(tx, patient, erasureId, last[0]!.time);
  await logAccess(tx, {
    actor,
    action: 'erase',
    patients: idsOf(patient),
    anonymous: true,
    filter: { begun: erasureId, ...(businessId && { business: businessId }) },
  });
  return erasureId;
}

async function insertRunning(
  tx: Db,
  { id, businessId, linked = [] }: Patient,
  actor: Actor,
): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    with certificate as (insert into erasures (erased_by, counts) values (${actor.id}, '{}') returning id)
    insert into running_erasures (erasure_id, actor, patient_id, business_id, linked)
    select id, ${JSON.stringify(actor)}::jsonb, ${id}, ${businessId ?? null}, ${linked}::text[] from certificate
    returning erasure_id as id`.execute(tx);
  return rows[0]!.id;
}

/** Lists the patient's records, so that no callback brings them back: one about the patient, or one that names nobody. */
async function listRecordsAsErased(tx: Db, patient: Patient, erasureId: string): Promise<void> {
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

/**
 * Withholds and deletes what is listed, and completes the certificate.
 *
 * @param found the ids of other patients in the deliveries, and the bodies in the quarantine
 * @returns false where another erasure is doing so, or this one was begun anew meanwhile
 */
async function eraseListed(
  tx: Db,
  families: readonly Family[],
  erasureId: string,
  { others, certain, uncertain: rejected }: Record<'others' | 'certain' | 'uncertain', readonly string[]>,
  { keepMs, keepsTotals, onProgress }: ErasureSettings & ErasureObserver,
): Promise<boolean> {
  const { rows: locks } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(${lockKey('erasure')}) as locked`.execute(tx);
  if (!locks[0]!.locked) return false;
  const running = await lockRunning(tx, erasureId);
  if (!running) return true;
  if (!running.is_found) return false;
  const { patients, actor, business_id, uncertain_list: listId } = running;
  const patient = patientOf(running);
  const withholding = { erasureId, patients, keepMs };
  const isErased = (id: RawBuilder<unknown>) =>
    sql`exists (select from erasing e where e.id = ${id} and e.erasure_id = ${erasureId}::uuid)`;
  const receipt = families.find(({ table }) => table === 'receipts');
  if (keepsTotals && receipt) await keepTotals(tx, receipt, isErased);
  const counts: Counts = {};
  // A worker may wait for the rows of shared records: they are locked last.
  for (const condition of [sql`not is_shared`, sql`is_shared`]) {
    for await (const ids of listedIds(tx, erasureId, perPart, condition)) {
      add(counts, await eraseDeliveries(tx, families, ids, withholding));
      onProgress?.(ids.length);
    }
  }
  // Receivers write these rows, too.
  await forgetDrift(tx, isErased);
  counts.quarantine = await eraseQuarantined(tx, certain, withholding);
  const hidden = { erasureId, listId, quarantine: rejected };
  const uncertain = await hideUncertain(tx, families, hidden);
  for (const id of [...idsOf(patient), ...others]) await erasePseudonym(tx, id, withholding);
  const searched = { keys: patientKeys, ids: idsOf(patient).length, words: searchedForWords, uncertain };
  await completeCertificate(tx, erasureId, { deliveries: 0, withheld: 0, ...counts }, searched);
  await sql`delete from erasing where erasure_id in (${erasureId}::uuid, ${listId}::uuid)`.execute(tx);
  await sql`delete from running_erasures where erasure_id = ${erasureId}::uuid`.execute(tx);
  await logAccess(tx, {
    actor,
    action: 'erase',
    patients: idsOf(patient),
    anonymous: true,
    filter: { erasure: erasureId, ...(business_id && { business: business_id }) },
    rows: (counts.deliveries ?? 0) + counts.quarantine,
  });
  return true;
}

/**
 * Erases deliveries: copies them to the schema `withheld`, deletes them with the rows made of them, and makes the rows of
 * the deliveries that remain about the same records.
 *
 * @returns the number of rows by table
 */
export async function eraseDeliveries(
  tx: Db,
  families: readonly Family[],
  ids: readonly string[],
  withholding: Withholding,
): Promise<Counts> {
  const { rows: present } = await sql<{ family: string }>`
    select distinct family from inbox where id = any(${ids}::uuid[])`.execute(tx);
  const { rows: records } = await sql<RecordKey>`
    select distinct thing_family(family) as family, business_id, thing_of(family, envelope) as thing
    from inbox where id = any(${ids}::uuid[]) and thing_of(family, envelope) is not null`.execute(tx);
  const own = families.filter(({ name }) => present.some(({ family }) => family === name));
  const withheld = await withholdDeliveries(tx, own, ids, withholding);
  const counts = await deleteDeliveries(tx, own, ids);
  // Where there are versions, the newest of those that remain is the row already.
  const others = families.filter(({ versions }) => !versions);
  await applyAgain(tx, others, await findApplied(tx, others, records));
  return { ...counts, withheld };
}

const searchedForWords = ['events that no family lists', 'the quarantine'];

async function completeCertificate(tx: Db, id: string, counts: Counts, searched: Searched): Promise<void> {
  await sql`
    with due as (select max(destroy_at) as last from withheld.records where erasure_id = ${id}::uuid)
    update erasures
    set counts = ${JSON.stringify(counts)}::jsonb, searched = ${JSON.stringify(searched)}::jsonb, destroy_after = due.last,
        destroyed_at = case when due.last is null then erasures.erased_at end
    from due where id = ${id}::uuid`.execute(tx);
}

/** The hashes of a patient, of every business and of those of the listed deliveries. */
async function readHashes(tx: Db, patient: Patient, listId: string): Promise<Buffer[]> {
  const { rows } = await sql<{ hash: Buffer }>`
    select patient_hash(erasure_salt.salt, businesses.business, one) as hash
    from erasure_salt cross join (
      select '' as business
      union select ${patient.businessId ?? ''}
      union select distinct business_id from erasing where erasure_id = ${listId}::uuid
    ) businesses cross join unnest(${idsOf(patient)}::text[]) as one`.execute(tx);
  return rows.map(({ hash }) => hash);
}

/** The access log names the patient no more, unless data remains, such as that of another business. */
async function erasePseudonym(tx: Db, id: string, withholding: Withholding): Promise<void> {
  const source = 'patient_pseudonyms';
  const from = sql`patient_pseudonyms p`;
  const where = sql`p.pseudonym = (select patient_hash(salt, '', ${id}) from erasure_salt)
    and not ${isNamed(sql`${id}::text`)}`;
  await withhold(tx, { source, content: sql`to_jsonb(p)`, receivedAt: sql`now()`, from, where }, withholding);
  await sql`delete from ${from} where ${where}`.execute(tx);
}
