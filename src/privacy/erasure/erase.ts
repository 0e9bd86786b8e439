import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Family, other } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';
import { analyze } from '../analyze.ts';
import { add, type Counts, tablesOf } from '../counts.ts';
import {
  findDeliveries,
  findMoreAbout,
  idsOf,
  listedIds,
  type Patient,
  trimmed,
} from '../find-deliveries.ts';
import type { Actor } from '../log/access-log.ts';
import { findIdsBeside } from './beside.ts';
import {
  eraseDeliveries,
  erasePseudonym,
  eraseQuarantined,
  forgetDrift,
  isListedIn,
  keepTotals,
} from './erase-rows.ts';
import { type Certificate, completeCertificate, readCertificate } from './erasure-list.ts';
import { afterStatementsInProgress, ErasureBlocked, inStep, lockErasures } from './erasure-lock.ts';
import { findInQuarantine } from './find-in-quarantine.ts';
import {
  beginErasure,
  listRecordsAsErased,
  lockRunning,
  logErasure,
  type Running,
  readHashes,
  readRunning,
} from './running.ts';

export interface ErasureOptions {
  actor: Actor;
  /** Other bodies that a person has named, see `findMentions`: deliveries of events that no family lists, and rejected ones. */
  also?: readonly string[];
  /** How long erased data is withheld, from its receipt, in milliseconds. */
  keepMs: number;
  /** Called when deliveries were deleted, with their number: before that is committed. */
  onProgress?: (count: number) => void;
  /** Called with the tables whose samples in pg_stats may contain erased values: this role may not analyze them. */
  onNotAnalyzed?: (tables: readonly string[]) => void;
}

type Settings = Omit<ErasureOptions, 'actor' | 'also'>;

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
 * @throws ErasureDelayed where the statements in progress do not end in time; ErasureBlocked; Error where `also` names something else
 */
export async function erasePatient(
  db: Db,
  families: readonly Family[],
  patient: Patient,
  options: ErasureOptions,
): Promise<Certificate> {
  const { actor, also = [] } = options;
  await requireBodies(db, also);
  const id = await inStep(db, (tx) => beginErasure(tx, trimmed(patient), also, actor));
  return continueErasure(db, families, id, options);
}

async function requireBodies(db: Db, ids: readonly string[]): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select id from unnest(${ids}::uuid[]) as named (id)
    where not exists (select from inbox i where i.id = named.id and i.family = ${other.name})
      and not exists (select from quarantine q where q.id = named.id)`.execute(db);
  const unknown = rows.map(({ id }) => id).join(', ');
  if (unknown)
    throw new Error(
      `Nothing was erased: no rejected body, and no delivery of an event that no family lists, is ${unknown}`,
    );
}

/**
 * Continues the erasures that are not complete: after the end of the process that began them, or beside it.
 *
 * @param olderThanS only those that began so many seconds ago
 * @throws ErasureDelayed; ErasureBlocked after the others are complete
 */
export async function continueErasures(
  db: Db,
  families: readonly Family[],
  settings: Settings,
  olderThanS = 0,
): Promise<Certificate[]> {
  const { rows } = await sql<{ id: string }>`
    select e.id from running_erasures r join erasures e on e.id = r.erasure_id
    where e.erased_at <= now() - ${olderThanS} * interval '1 second'
    order by e.erased_at, e.id`.execute(db);
  const certificates: Certificate[] = [];
  let blocked: ErasureBlocked | undefined;
  for (const { id } of rows) {
    try {
      certificates.push(await continueErasure(db, families, id, settings));
    } catch (error) {
      if (!(error instanceof ErasureBlocked)) throw error;
      blocked = error;
    }
  }
  if (blocked) throw blocked;
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
async function continueErasure(db: Db, families: readonly Family[], id: string, settings: Settings) {
  for (;;) {
    const running = await readRunning(db, id);
    if (!running) break;
    if (!running.isFound) await find(db, families, id, running);
    // Statements that began before the deliveries were listed may be applying them.
    await afterStatementsInProgress(db);
    const named = await findInQuarantine(db, families, running, id);
    const others = (await findIdsBeside(db, running)).map((beside) => beside.id);
    const found = { others, quarantine: [...named, ...running.also] };
    if (await inStep(db, (tx) => eraseListed(tx, families, id, found, settings))) break;
    await sleep(pauseMs);
  }
  const certificate = await readCertificate(db, id);
  const left = await analyze(db, changedTables(families, certificate.counts));
  if (left.length > 0) settings.onNotAnalyzed?.(left);
  return certificate;
}

/** Lists the patient's deliveries and what must not come back. Twice: what came before that was committed is found, too. */
async function find(db: Db, families: readonly Family[], id: string, patient: Running): Promise<void> {
  const inOwnStep = (step: (tx: Db) => Promise<void>) =>
    inStep(db, async (tx) => {
      if ((await lockRunning(tx, id))?.isFound === false) await step(tx);
    });
  // From now on nothing that names the patient is stored, up to the moment of the erasure.
  await afterStatementsInProgress(db);
  const until = sql`i.event_time <= (select erased.until from erased cross join erasure_salt
    where erased.hash = patient_hash(erasure_salt.salt, ${patient.businessId ?? ''}, ${patient.id}))`;
  await inOwnStep(async (tx) => {
    await findDeliveries(tx, families, patient, id, until);
    await listRecordsAsErased(tx, patient, id);
  });
  await afterStatementsInProgress(db);
  await inOwnStep(async (tx) => {
    await findMoreAbout(tx, families, patient, id);
    await sql`
      insert into erasing (id, erasure_id, family, thing_family, business_id)
      select id, ${id}::uuid, family, family, business_id from inbox
      where id = any(${patient.also}::uuid[]) and family = ${other.name}
      on conflict do nothing`.execute(tx);
    const patients = await readHashes(tx, patient, id);
    await sql`
      update running_erasures set is_found = true, patients = ${patients}::bytea[]
      where erasure_id = ${id}`.execute(tx);
  });
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
  found: Record<'others' | 'quarantine', readonly string[]>,
  { keepMs, onProgress }: Settings,
): Promise<boolean> {
  if (!(await lockErasures(tx, { skip: true }))) return false;
  const running = await lockRunning(tx, erasureId);
  if (!running) return true;
  if (!running.isFound) return false;
  const { patients, actor } = running;
  const ids = idsOf(running);
  const withholding = { erasureId, patients, keepMs };
  const isErased = isListedIn(erasureId);
  await keepTotals(tx, families, isErased);
  const counts: Counts = { deliveries: 0, withheld: 0 };
  // A worker may wait for the rows of shared records: they are locked last.
  for (const condition of [sql`not is_shared`, sql`is_shared`]) {
    for await (const part of listedIds(tx, erasureId, perPart, condition)) {
      add(counts, await eraseDeliveries(tx, families, part, withholding));
      onProgress?.(part.length);
    }
  }
  // Receivers write these rows, too.
  await forgetDrift(tx, isErased);
  counts.quarantine = await eraseQuarantined(tx, found.quarantine, withholding);
  for (const id of [...ids, ...found.others]) await erasePseudonym(tx, id, withholding);
  await completeCertificate(tx, erasureId, counts, ids.length);
  await sql`delete from erasing where erasure_id = ${erasureId}::uuid`.execute(tx);
  await sql`delete from running_erasures where erasure_id = ${erasureId}::uuid`.execute(tx);
  const rows = counts.deliveries! + counts.quarantine;
  await logErasure(tx, running, { actor, filter: { erasure: erasureId }, rows });
  return true;
}
