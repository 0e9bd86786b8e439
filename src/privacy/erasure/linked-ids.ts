import { sql } from 'kysely';
import { visitPatients } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';
import { idsOf, names, type Patient } from '../find-deliveries.ts';

const maxIds = 10;
const maxBodies = 2_000;

/** A place of a body that names a patient. */
interface Name {
  /** The platform's own id, or the kind of another. */
  kind: string;
  id: string;
  within: object;
}

const kinds = ['partnerpatientid', 'abhaaddress', 'abhanumber'];
const kindOf = (key: string) => (kinds.includes(key) ? key : 'platform');

/** The patient with all ids, trimmed. */
export async function withLinked(db: Db, { id, businessId }: Patient) {
  const patient = { id: id.trim(), businessId };
  return { ...patient, linked: await findLinked(db, patient) };
}

/**
 * Other ids of a patient. Two ids are of one patient where one object of a callback names it by both, with keys of two kinds
 * (`oid` and `partner_patient_id`), and where no callback names the other id beside an id of another patient: one that is
 * shared, such as `0`, links nobody.
 */
async function findLinked(db: Db, patient: Patient): Promise<string[]> {
  const ids = [patient.id];
  for (const id of ids) {
    const bodies = await readBodies(db, { ...patient, id });
    const own = bodies.filter((name) => name.id === id);
    const beside = bodies.filter(
      (name) =>
        !ids.includes(name.id) &&
        own.some(({ within, kind }) => within === name.within && kind !== name.kind),
    );
    for (const other of new Set(beside.map((name) => name.id))) {
      if (ids.length > maxIds) break;
      const kindsOfId = new Set(own.map(({ kind }) => kind));
      if (await isOfOne(db, { ...patient, id: other }, ids, kindsOfId)) ids.push(other);
    }
  }
  return ids.slice(1);
}

/** Whether every object that names a patient by this id and by one of some kinds names one of these ids. */
async function isOfOne(db: Db, patient: Patient, ids: readonly string[], kindsOfIds: ReadonlySet<string>) {
  const bodies = await readBodies(db, patient);
  const own = new Set(bodies.filter(({ id }) => id === patient.id).map(({ within }) => within));
  return bodies
    .filter(({ kind, within, id }) => id !== patient.id && own.has(within) && kindsOfIds.has(kind))
    .every(({ id }) => ids.includes(id));
}

/**
 * Other people whom the deliveries about a patient name, and whose data an erasure takes along.
 *
 * @returns the ids that are not known to be the patient's; `billing`: the number of deliveries with a person under that key,
 *   who may be another, as far as they were read
 */
export async function findOthers(db: Db, patient: Patient) {
  const ids = new Set<string>();
  for (const { id } of await readBodies(db, patient)) ids.add(id);
  for (const own of idsOf(patient)) ids.delete(own);
  const { rows } = await sql<{ billing: number }>`
    select count(*)::int as billing from (
      select from inbox i
      where i.family = 'other' and jsonb_typeof(i.envelope #> '{data,billing}') = 'object' and ${names(patient)}
      limit ${maxBodies}
    ) found`.execute(db);
  return { ids: [...ids], billing: rows[0]!.billing };
}

/** The names in the deliveries that name a patient and more than patient_of tells: of each event and each set of ids, in one. */
async function readBodies(db: Db, patient: Patient): Promise<Name[]> {
  const { rows } = await sql<{ envelope: Record<string, unknown> }>`
    select distinct on (i.event, named.ids) i.envelope
    from inbox i
    cross join lateral (
      select case when i.patients = '{}' then patients_beyond(i.envelope) else i.patients end as ids offset 0
    ) named
    where named.ids is not null and ${names(patient)}
    order by i.event, named.ids, i.id desc limit ${maxBodies}`.execute(db);
  const found: Name[] = [];
  for (const { envelope } of rows)
    visitPatients(envelope, (key, id, within) => found.push({ kind: kindOf(key), id, within }));
  return found;
}
