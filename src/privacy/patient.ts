import { sql } from 'kysely';
import type { Delivery } from '../callbacks/delivery.ts';
import { canonicalJson, Decimal, withDecimals } from '../callbacks/exact-json.ts';
import { patientSubject } from '../callbacks/subjects.ts';
import type { Core } from '../receiver/feature.ts';
import { findCallbacks } from '../receiver/gate/find-reductions.ts';
import { readStored } from '../receiver/gate/gate.ts';
import { subjectOf } from '../receiver/gate/owners.ts';
import { businessesOfInbox, isRowOf, tableOf } from '../receiver/store/columns.ts';
import { type Actor, logAccess } from '../receiver/store/log-access.ts';
import { inTransaction } from '../receiver/store/pools.ts';
import { keysOf } from '../receiver/store/statements/merge-records.ts';
import type { Db } from '../receiver/store/tables.ts';
import { isAbout } from './audit.ts';
import { heldSubjects } from './holds.ts';

/** The callbacks of a patient are read at once. */
const maxBytes = 32 * 1024 * 1024;

export class PatientTooLarge extends Error {
  override message =
    `The callbacks of this patient have more than ${maxBytes} bytes: read them with receiver sql`;
}

/** Businesses in which an id of a partner is looked for. */
const maxBusinesses = 2_000;

export class UnclearPatient extends Error {
  readonly subjects: readonly string[];

  /** @param subjects undefined: there are too many businesses */
  constructor(id: string, subjects: readonly string[] | undefined) {
    super(
      !subjects
        ? `There are more than ${maxBusinesses} businesses. Say what kind of id it is: platform:${id} for the platform’s, partner:<business>:${id} for a clinic’s own, abha:${id} for an ABHA address or number`
        : subjects.length === 0
          ? `No stored callback names a patient with the id ${id}. If a rejected callback may name one, enter platform:${id}`
          : `${id} may be several people. Choose: ${subjects.map((subject) => subject.slice(2)).join(', ')}`,
    );
    this.name = new.target.name;
    this.subjects = subjects ?? [];
  }
}

/**
 * The subjects of one patient. An unclear id is an entry of the access log, since the error has ids of patients.
 *
 * @param ids as callbacks have them; or `platform:<id>`, `partner:<business>:<id>` or `abha:<address or number>`, also of
 *   a patient whom no stored callback names
 * @throws UnclearPatient with the choices; nothing is guessed
 */
export async function identifyPatient(core: Core, actor: Actor, ids: readonly string[]): Promise<string[]> {
  const patient: string[] = [];
  for (const id of ids) {
    const { subjects, isExplicit } = await candidatesOf(core.db, id);
    const { rows } = await sql<{ subject: string }>`
      select subject from unnest(${subjects}::text[]) subject where ${isExplicit}
      union select s from receiver.inbox, unnest(subjects) s where subjects && (select ${subjects}::text[]) and s = any(${subjects})
      order by subject`.execute(core.db);
    const choices = rows.map(({ subject }) => subject);
    if (choices.length !== 1) {
      await logAccess(core, { actor, action: 'search', subjects: choices, rows: choices.length });
      throw new UnclearPatient(id, choices);
    }
    patient.push(...choices);
  }
  return [...new Set(patient)];
}

/** Also those that no callback names. */
export const subjectsLike = async (db: Db, id: string): Promise<string[]> =>
  (await candidatesOf(db, id)).subjects;

async function candidatesOf(db: Db, id: string): Promise<{ subjects: string[]; isExplicit: boolean }> {
  const [, kind = 'partner', business = '', explicit] =
    /^(?:(platform|abha)|partner:([^:]*)):(.+)$/s.exec(id) ?? [];
  if (explicit) {
    const subject = patientSubject(kind as 'platform' | 'abha' | 'partner', explicit, business);
    return { subjects: subject ? [subject] : [], isExplicit: true };
  }
  const businesses = `select business_id from (${businessesOfInbox}) b limit ${maxBusinesses + 1}`;
  const { rows } = await sql.raw<{ business_id: string }>(businesses).execute(db);
  if (rows.length > maxBusinesses) throw new UnclearPatient(id, undefined);
  const subjects = [
    patientSubject('platform', id, ''),
    patientSubject('abha', id, ''),
    ...rows.map(({ business_id }) => patientSubject('partner', id, business_id)),
  ].filter((subject) => subject !== undefined);
  return { subjects, isExplicit: false };
}

interface PatientView {
  subjects: readonly string[];
  /** The oldest event first. */
  deliveries: readonly Delivery[];
  isHeld: boolean;
}

/** @throws PatientTooLarge; Error where the access log cannot be written */
export async function showPatient(
  core: Core,
  actor: Actor,
  subjects: readonly string[],
): Promise<PatientView> {
  const deliveries = await readPatient(core, subjects);
  const { length: rows } = deliveries;
  await logAccess(core, { actor, action: rows > 0 ? 'reveal' : 'search', subjects, rows });
  return { subjects, deliveries, isHeld: (await heldSubjects(core.db, subjects)).length > 0 };
}

/**
 * Everything that is stored about a patient, as JSON: the callbacks, the rows of their records, and who looked at them. The
 * row of a record that names several people has the data of all. Contents of health records are left out.
 *
 * @throws PatientTooLarge; Error where the access log cannot be written
 */
export async function exportPatient(core: Core, actor: Actor, subjects: readonly string[]): Promise<string> {
  const deliveries = await readPatient(core, subjects);
  await logAccess(core, { actor, action: 'export', subjects, rows: deliveries.length });
  const rows: Record<string, unknown[]> = {};
  const records = [...new Map(deliveries.map((delivery) => [subjectOf(delivery), delivery])).values()];
  for (const family of core.families) {
    const own = records.filter((record) => record.family === family.name);
    if (own.length === 0) continue;
    const [businesses, ids] = keysOf(own);
    const stored = await sql<{ row: string }>`
      select to_jsonb(t)::text as row from unnest(${businesses}::text[], ${ids}::text[]) k(business_id, record_id)
      join ${sql.raw(tableOf(family))} t on ${sql.raw(isRowOf(family))}
    `.execute(core.db);
    rows[family.table] = stored.rows.map(({ row }) => withAllDigits(row));
  }
  const entries = core.db.selectFrom('public.access_log').select(['at', 'actor', 'action']);
  const looks = await entries.where(isAbout(subjects)).orderBy('entry').execute();
  const callbacks = deliveries.map(({ id, body, receivedAt }) => ({
    id,
    received_at: new Date(receivedAt / 1000).toISOString(),
    callback: withAllDigits(body.toString()),
  }));
  const ids = subjects.map((subject) => subject.slice(2));
  const access = looks.map(({ at, ...look }) => ({ at: at.toISOString(), ...look }));
  return canonicalJson({ ids, callbacks, rows, access });
}

/** The callbacks that belong to a patient, the oldest event first. @throws PatientTooLarge */
async function readPatient({ pool }: Core, subjects: readonly string[]): Promise<Delivery[]> {
  const first = 'set transaction isolation level repeatable read, read only';
  return inTransaction(pool, first, async (client) => {
    const { callbacks } = await findCallbacks(client, subjects);
    const ids = callbacks.map(({ delivery }) => delivery.id);
    const size =
      'select to_jsonb(coalesce(sum(octet_length(envelope::text)), 0)) as bytes from receiver.inbox where id = any($1)';
    const { rows } = await client.query<{ bytes: number }>(size, [ids]);
    if (rows[0]!.bytes > maxBytes) throw new PatientTooLarge();
    const deliveries = await readStored(client, ids);
    return [...deliveries.values()].sort((a, b) => a.eventMs - b.eventMs);
  });
}

/** JSON without contents of health records, and with all digits of numbers. */
const withAllDigits = (json: string) => withoutContents(withDecimals(json, JSON.parse(json)));

function withoutContents(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Decimal) return value;
  if (Array.isArray(value)) return value.map(withoutContents);
  const kept = Object.entries(value).filter(([key]) => key.toLowerCase() !== 'entries');
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutContents(inner)]));
}
