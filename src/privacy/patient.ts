import { sql } from 'kysely';
import type { Delivery } from '../callbacks/delivery.ts';
import { canonicalJson, withDecimals } from '../callbacks/exact-json.ts';
import { readableBody, withoutContents } from '../callbacks/health-contents.ts';
import { patientSubject } from '../callbacks/subjects.ts';
import type { Core } from '../receiver/feature.ts';
import { findCallbacks } from '../receiver/gate/find-reductions.ts';
import { readStored } from '../receiver/gate/gate.ts';
import { type DeliveryHead, subjectOf } from '../receiver/gate/owners.ts';
import { businessesOfInbox, columnsOf, firstOf, isRowOf, keyOf, tableOf } from '../receiver/store/columns.ts';
import { type Actor, logAccess } from '../receiver/store/log-access.ts';
import { inTransaction, snapshot } from '../receiver/store/pools.ts';
import { keysOf } from '../receiver/store/statements/merge-records.ts';
import type { Db } from '../receiver/store/tables.ts';
import { isHeld } from './holds.ts';

/** The callbacks of a patient are read at once. */
const maxBytes = 32 * 1024 * 1024;

export class PatientTooLarge extends Error {
  override message =
    `The callbacks of this patient have more than ${maxBytes} bytes: read them with receiver sql`;
}

export class UnclearPatient extends Error {
  constructor(id: string, subjects: readonly string[]) {
    super(
      subjects.length === 0
        ? `No stored callback names a patient with the id ${id}. If a rejected callback may name one, enter platform:${id}`
        : `${id} may be several people. Choose: ${subjects.map((subject) => subject.slice(2)).join(', ')}`,
    );
    this.name = new.target.name;
  }
}

/**
 * The subjects of one patient. An unclear id is an entry of the access log, since the error has ids of patients.
 *
 * @param ids as callbacks or holds have them; or `platform:<id>`, `partner:<business>:<id>` or `abha:<address or number>`, also of
 *   a patient whom no stored callback names
 * @throws UnclearPatient with the choices; nothing is guessed
 */
export async function identifyPatient(core: Core, actor: Actor, ids: readonly string[]): Promise<string[]> {
  const patient: string[] = [];
  for (const id of ids) {
    const choices = await choicesOf(core.db, id);
    if (choices.length !== 1) {
      await logAccess(core, { actor, action: 'search', subjects: choices, rows: choices.length });
      throw new UnclearPatient(id, choices);
    }
    patient.push(...choices);
  }
  return [...new Set(patient)];
}

/** The subjects that an id may be: of callbacks or holds, or the one that it says. */
export async function choicesOf(db: Db, id: string): Promise<string[]> {
  const { subjects, isExplicit } = await candidatesOf(db, id);
  const { rows } = await sql<{ subject: string }>`
    select subject from unnest(${subjects}::text[]) subject
    where ${isExplicit} or exists (select from receiver.holds where hash = receiver.hash_of(subject))
    union select s from receiver.callbacks_with(${subjects}), unnest(subjects) s where s = any(${subjects})
    order by subject`.execute(db);
  return rows.map(({ subject }) => subject);
}

/** The subjects that an id may be, also those that no callback names. */
export async function candidatesOf(db: Db, id: string): Promise<{ subjects: string[]; isExplicit: boolean }> {
  const [, kind = 'partner', business = '', explicit] =
    /^(?:(platform|abha)|partner:([^:]*)):(.+)$/s.exec(id) ?? [];
  if (explicit) {
    const subject = patientSubject(kind as 'platform' | 'abha' | 'partner', explicit, business);
    return { subjects: subject ? [subject] : [], isExplicit: true };
  }
  const { rows } = await sql.raw<{ business_id: string }>(businessesOfInbox).execute(db);
  const subjects = [
    patientSubject('platform', id, ''),
    patientSubject('abha', id, ''),
    ...rows.map(({ business_id }) => patientSubject('partner', id, business_id)),
  ].filter((subject) => subject !== undefined);
  return { subjects, isExplicit: false };
}

/** The callbacks that belong to a patient, the newest event first. @throws Error where the access log cannot be written */
export async function revealCallbacks(
  core: Core,
  actor: Actor,
  subjects: readonly string[],
): Promise<DeliveryHead[]> {
  const { callbacks } = await inTransaction(core.pool, snapshot, (client) => findCallbacks(client, subjects));
  const { length: rows } = callbacks;
  const deliveries = callbacks.map(({ delivery }) => delivery);
  const shown = [...new Set([...subjects, ...deliveries.flatMap(patientsIn)])];
  await logAccess(core, { actor, action: rows > 0 ? 'reveal' : 'search', subjects: shown, rows });
  return deliveries.sort((a, b) => b.eventMs - a.eventMs);
}

export const patientsIn = ({ subjects }: DeliveryHead) =>
  subjects.filter((subject) => subject.startsWith('p:'));

/** Who a patient is, and what is the patient's. Each list begins with the newest. */
export interface Profile {
  callbacks: DeliveryHead[];
  names: string[];
  /** One spelling of each number. */
  phones: string[];
  /** Other ids of patients in the same callbacks: of this patient, or of somebody else. */
  otherSubjects: string[];
  isHeld: boolean;
  /** How often each actor had the patient's data in the last 30 days, with now. */
  looks: { actor: string; actor_name: string | null; times: number; last: Date }[];
}

/** Names and phones are those of the patient's records, see `isRecordOf`. @throws Error where the access log cannot be written */
export async function readProfile(core: Core, actor: Actor, subjects: readonly string[]): Promise<Profile> {
  const { db } = core;
  const callbacks = await revealCallbacks(core, actor, subjects);
  const people = await readPeople(core, callbacks);
  const phones = new Map<string, string>();
  for (const { phone, key } of people) if (phone && !phones.has(key)) phones.set(key, phone);
  return {
    callbacks,
    names: [...new Set(people.flatMap(({ name }) => name ?? []))],
    phones: [...phones.values()],
    otherSubjects: [...new Set(callbacks.flatMap(patientsIn))].filter(
      (subject) => !subjects.includes(subject),
    ),
    isHeld: await isHeld(db, subjects),
    looks: await readLooks(db, subjects),
  };
}

async function readPeople({ db, families }: Core, callbacks: readonly DeliveryHead[]) {
  type Person = { name: string | null; phone: string | null; key: string };
  const people = families.flatMap((family) => {
    if (!family.people) return [];
    const [name, phone] = [family.people.names, family.people.phones].map((of) => sql.raw(firstOf(of)));
    const key = keyOf(family).at(-1)!;
    const own = callbacks.filter((callback) => callback.family === family.name);
    return sql`
      select ${name} as name, ${phone} as phone, event_time,
             coalesce(reporting.phone_key(${phone})::text, ${phone}) as key
      from ${sql.raw(tableOf(family))} t where ${isRecordOf(own, key, columnsOf(family)[key])}`;
  });
  const newestFirst = sql<Person>`${sql.join(people, sql` union all `)} order by event_time desc`;
  return (await newestFirst.execute(db)).rows;
}

/** Whether a row's newest callback is one of these; a key finds the row. A corrected record may be another patient's now. */
export function isRecordOf(callbacks: readonly DeliveryHead[], key: string, type = 'text') {
  const [businesses, records] = keysOf(callbacks);
  return sql<boolean>`business_id = any(${businesses}::text[]) and ${sql.ref(key)} = any(${records}::${sql.raw(type)}[])
    and delivery_id = any(${callbacks.map(({ id }) => id)}::uuid[])`;
}

/** The entry is about one of these subjects. By an array: else PostgreSQL may look for the newest ones in all entries. */
export const isAbout = (subjects: readonly string[]) =>
  sql<boolean>`entry = any(array(select entry from public.access_log
    where subjects && array(select receiver.hash_of(s) from unnest(${subjects}::text[]) s)))`;

const readLooks = (db: Db, subjects: readonly string[]): Promise<Profile['looks']> =>
  db
    .selectFrom('public.access_log')
    .select(({ fn }) => ['actor', fn.max('actor_name').as('actor_name'), fn.max('at').as('last')])
    .select(sql<number>`count(*)::int`.as('times'))
    .where(isAbout(subjects))
    .where('at', '>', sql<Date>`now() - interval '30 days'`)
    .groupBy('actor')
    .orderBy('last', 'desc')
    .execute();

/**
 * Everything that is stored about a patient, as JSON: the callbacks, the rows of their records, rejected bodies, and who
 * looked at them. The row of a record that names several people has the data of all. Contents of health records are left out.
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
  const bodies = await core.pool.query<{ received_at: Date; body: Buffer }>(
    `select received_at, body from receiver.quarantine q where ${namesPatient('$1')} order by received_at`,
    [subjects],
  );
  const rejected = bodies.rows.map(({ received_at, body }) => ({
    received_at: received_at.toISOString(),
    body: readableBody(body.toString()),
  }));
  const entries = core.db.selectFrom('public.access_log').select(['at', 'actor', 'action']);
  const looks = await entries.where(isAbout(subjects)).orderBy('entry').execute();
  const callbacks = deliveries.map(({ id, body, receivedAt }) => ({
    id,
    received_at: new Date(receivedAt / 1000).toISOString(),
    callback: withAllDigits(body.toString()),
  }));
  const ids = subjects.map((subject) => subject.slice(2));
  const access = looks.map(({ at, ...look }) => ({ at: at.toISOString(), ...look }));
  return canonicalJson({ ids, callbacks, rows, rejected, access });
}

/** SQL for whether a body `q` of the quarantine names a subject or a record that does. */
export const namesPatient = (subjects: string): string => `q.subjects && (${subjects}::text[] || array(
  select receiver.record_subject(family, business_id, record_id) from receiver.callbacks_with(${subjects})
))`;

/** The callbacks that belong to a patient, the oldest event first. @throws PatientTooLarge */
async function readPatient({ pool }: Core, subjects: readonly string[]): Promise<Delivery[]> {
  return inTransaction(pool, snapshot, async (client) => {
    const { callbacks } = await findCallbacks(client, subjects);
    const ids = callbacks.map(({ delivery }) => delivery.id);
    const size = `select to_jsonb(coalesce(sum(bytes), 0)) as bytes from (
      select octet_length(envelope::text) as bytes from receiver.inbox where id = any($1)
      union all select octet_length(body) from receiver.quarantine q where ${namesPatient('$2')}) sizes`;
    const { rows } = await client.query<{ bytes: number }>(size, [ids, subjects]);
    if (rows[0]!.bytes > maxBytes) throw new PatientTooLarge();
    const deliveries = await readStored(client, ids);
    return [...deliveries.values()].sort((a, b) => a.eventMs - b.eventMs);
  });
}

/** JSON without contents of health records, and with all digits of numbers. */
const withAllDigits = (json: string) => withoutContents(withDecimals(json, JSON.parse(json)));
