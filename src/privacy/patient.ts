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
import { heldSubjects } from './holds.ts';

/** The size of all callbacks of a patient, which are read at once. */
const maxBytes = 32 * 1024 * 1024;

export class PatientTooLarge extends Error {
  override message =
    `The callbacks of this patient have more than ${maxBytes} bytes: read them with receiver sql`;
}

/** In so many businesses an id of a partner is looked for. */
const maxBusinesses = 2_000;

/** An id means no patient, or several. */
export class UnclearPatient extends Error {
  /** Whom it may mean. */
  readonly subjects: readonly string[];

  /** @param subjects undefined: there are too many businesses to look for it in each */
  constructor(id: string, subjects: readonly string[] | undefined) {
    super(
      !subjects
        ? `There are more than ${maxBusinesses} businesses. Say whose id ${id} is: platform:<id>, partner:<business>:<id> or abha:<id>`
        : subjects.length === 0
          ? `No stored callback names ${id}. Where only a body of the quarantine does, say platform:<id>`
          : `${id} may be several people. Choose: ${subjects.map((subject) => subject.slice(2)).join(', ')}`,
    );
    this.name = new.target.name;
    this.subjects = subjects ?? [];
  }
}

/**
 * The subjects of one patient. Where nothing is clear, that is an entry of the access log: the error has ids of patients.
 *
 * @param ids as callbacks have them; or `platform:<id>`, `partner:<business>:<id>` or `abha:<address or number>`, also of
 *   a patient whom no stored callback names
 * @throws UnclearPatient with what to choose from; nothing is guessed
 */
export async function identifyPatient(core: Core, actor: Actor, ids: readonly string[]): Promise<string[]> {
  const patient: string[] = [];
  for (const id of ids) {
    const { subjects, isExplicit } = await candidatesOf(core.db, id);
    const { rows } = await sql<{ subject: string }>`
      select subject from unnest(${subjects}::text[]) subject where ${isExplicit}
      union select s from receiver.inbox, unnest(subjects) s where subjects && (select ${subjects}::text[]) and s = any(${subjects})
      order by subject`.execute(core.db);
    const [first, ...others] = rows.map(({ subject }) => subject);
    if (first === undefined || others.length > 0) {
      const found = rows.map(({ subject }) => subject);
      await logAccess(core, { actor, action: 'search', subjects: found, rows: 0 });
      throw new UnclearPatient(id, found);
    }
    patient.push(first);
  }
  return [...new Set(patient)];
}

/** The subjects that an id may mean, whether or not a callback names them. */
export const subjectsLike = async (db: Db, id: string): Promise<string[]> =>
  (await candidatesOf(db, id)).subjects;

async function candidatesOf(db: Db, id: string): Promise<{ subjects: string[]; isExplicit: boolean }> {
  const explicit = /^(platform|abha):(.+)$/s.exec(id) ?? /^(partner):(?<business>[^:]*):(.+)$/s.exec(id);
  if (explicit) {
    const kind = explicit[1] as 'platform' | 'abha' | 'partner';
    const subject = patientSubject(kind, explicit.at(-1), explicit.groups?.business ?? '');
    return { subjects: subject ? [subject] : [], isExplicit: true };
  }
  const businesses = `select business_id from (${businessesOfInbox}) b limit ${maxBusinesses + 1}`;
  const { rows } = await sql.raw<{ business_id: string }>(businesses).execute(db);
  if (rows.length > maxBusinesses) throw new UnclearPatient(id, undefined);
  const subjects = [
    patientSubject('platform', id, ''),
    patientSubject('abha', id, ''),
    ...rows.map(({ business_id }) => patientSubject('partner', id, business_id)),
  ].filter((one) => one !== undefined);
  return { subjects, isExplicit: false };
}

export interface PatientView {
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
 * Everything that is stored about a patient, as JSON: the callbacks, the rows of their records, and who looked at them. A row
 * of a record that names several people has what is known of all of them. Contents of health records are left out.
 *
 * @throws PatientTooLarge; Error where the access log cannot be written
 */
export async function exportPatient(core: Core, actor: Actor, subjects: readonly string[]): Promise<string> {
  const deliveries = await readPatient(core, subjects);
  await logAccess(core, { actor, action: 'export', subjects, rows: deliveries.length });
  const rows: Record<string, unknown[]> = {};
  const records = new Map(deliveries.map((one) => [subjectOf(one), one]));
  for (const family of core.families) {
    const own = [...records.values()].filter((record) => record.family === family.name);
    if (own.length === 0) continue;
    const [businesses, ids] = keysOf(own);
    const found = await sql<{ row: string }>`
      select to_jsonb(t)::text as row from unnest(${businesses}::text[], ${ids}::text[]) k(business_id, record_id)
      join ${sql.raw(tableOf(family))} t on ${sql.raw(isRowOf(family))}
    `.execute(core.db);
    rows[family.table] = found.rows.map(({ row }) => withAllDigits(row));
  }
  const { rows: access } = await sql<{ entry: string }>`
    select json_build_object('at', at, 'actor', actor, 'action', action)::text as entry from public.access_log
    where subjects && array(select receiver.hash_of(s) from unnest(${subjects}::text[]) s) order by entry
  `.execute(core.db);
  const callbacks = deliveries.map(({ id, body, receivedAt }) => ({
    id,
    received_at: new Date(receivedAt / 1000).toISOString(),
    callback: withAllDigits(body.toString()),
  }));
  const ids = subjects.map((subject) => subject.slice(2));
  const entries = access.map(({ entry }) => JSON.parse(entry));
  return canonicalJson({ ids, callbacks, rows, access: entries });
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
