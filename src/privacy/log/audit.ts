import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../store/tables.ts';

/** Selects entries of the access log; undefined fields do not filter. */
export interface AccessFilter {
  /** The id of the actor or the name. */
  actor?: string | undefined;
  action?: string | undefined;
  /** The id of a patient. */
  patient?: string | undefined;
  /** A patient's pseudonym, in hexadecimal. */
  pseudonym?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
  /** Entries older than this one. */
  before?: number | undefined;
}

export interface AccessEntry {
  entry: string;
  at: Date;
  actor: string;
  actor_name: string | null;
  address: string | null;
  action: string;
  /** The first few: their ids, or `erased` and the start of the pseudonym. */
  patients: string[];
  /** Theirs, in hexadecimal. */
  pseudonyms: string[];
  /** The number of all. */
  patient_count: number;
  filter: Record<string, unknown>;
  rows: string | null;
}

/** Entries of the access log, newest first. */
export const listAccess = async (db: Db, filter: AccessFilter, limit: number): Promise<AccessEntry[]> =>
  (await accessQuery(filter, limit).execute(db)).rows;

/** The query for the entries, by an index for each filter. */
export function accessQuery(filter: AccessFilter, limit: number): RawBuilder<AccessEntry> {
  // Each condition on the actor has an index of its own.
  const { actor, ...others } = filter;
  const newest = (isActor: RawBuilder<unknown>) => sql`(
    select entry, at, actor, actor_name, address, action, patients, filter, rows from access_log
    where ${isActor} and ${matching(others)} order by entry desc limit ${limit})`;
  const found =
    actor === undefined
      ? newest(sql`true`)
      : sql`${newest(sql`actor = ${actor}`)} union ${newest(sql`actor_name = ${actor}`)}`;
  const ofFirst = (value: RawBuilder<unknown>) => sql`array(
    select ${value} from unnest(newest.patients[1:5]) with ordinality as first (seen, position) order by first.position)`;
  const patient = sql`(select p.patient_id from patient_pseudonyms p where p.pseudonym = first.seen)`;
  return sql<AccessEntry>`
    select entry, at, actor, actor_name, address, action, filter, rows, cardinality(patients) as patient_count,
           ${ofFirst(sql`coalesce(${patient}, 'erased ' || left(encode(first.seen, 'hex'), 8))`)} as patients,
           ${ofFirst(sql`encode(first.seen, 'hex')`)} as pseudonyms
    from (${found}) as newest
    order by entry desc limit ${limit}`;
}

/** The pseudonym of a patient in the access log, in hexadecimal. */
export async function pseudonymOf(db: Db, patient: string): Promise<string> {
  const { rows } = await sql<{ pseudonym: string }>`
    select encode(patient_hash(salt, '', ${patient}), 'hex') as pseudonym from erasure_salt`.execute(db);
  return rows[0]!.pseudonym;
}

/** The patient of a pseudonym; undefined: erased, or no entry names one by it. */
export async function patientBehind(db: Db, pseudonym: string): Promise<string | undefined> {
  const { rows } = await sql<{ patient_id: string }>`
    select patient_id from patient_pseudonyms where pseudonym = decode(${pseudonym}, 'hex')`.execute(db);
  return rows[0]?.patient_id;
}

/** The number of patients in the matching entries, and of entries that name none. */
export async function countPatients(db: Db, filter: AccessFilter) {
  const { rows } = await sql<{ patients: string; unnamed: string }>`
    with matching as (select patients from access_log where ${matching(filter)})
    select (select count(distinct seen) from matching, unnest(patients) as seen) as patients,
           (select count(*) from matching where patients = '{}') as unnamed`.execute(db);
  return { patients: Number(rows[0]!.patients), unnamed: Number(rows[0]!.unnamed) };
}

/** The columns of `patientsSeen`. */
export const patientColumns = [
  'patient_id',
  'pseudonym',
  'first_seen_at',
  'last_seen_at',
  'times',
  'actions',
];

/** A query for the patients in the matching entries, one row each; `patient_id` is empty for erased ones. */
export function patientsSeen(db: Db, filter: AccessFilter) {
  const time = (value: 'min' | 'max') =>
    sql`to_char(${sql.raw(value)}(at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  return sql`
    select patient_id, encode(pseudonym, 'hex') as pseudonym, ${time('min')} as first_seen_at,
           ${time('max')} as last_seen_at, count(*) as times, string_agg(distinct action, ', ') as actions
    from access_log cross join unnest(patients) as pseudonym left join patient_pseudonyms using (pseudonym)
    where ${matching(filter)}
    group by pseudonym, patient_id
    order by min(at), pseudonym`.compile(db);
}

function matching({ actor, action, patient, pseudonym, since, until, before }: AccessFilter) {
  const conditions = [
    actor && sql`(actor = ${actor} or actor_name = ${actor})`,
    action && sql`action = ${action}`,
    patient && isAbout(sql`patient_hash((select salt from erasure_salt), '', ${patient})`),
    pseudonym && isAbout(sql`decode(${pseudonym}, 'hex')`),
    since && sql`at >= ${since}`,
    until && sql`at < ${until}`,
    before && sql`entry < ${before}`,
  ].filter((condition) => typeof condition === 'object');
  return conditions.length > 0 ? sql.join(conditions, sql` and `) : sql`true`;
}

/** The entries are looked up first: the planner does not know that a patient has few, and would read the newest ones. */
const isAbout = (pseudonym: RawBuilder<unknown>) =>
  sql`entry = any(array(select about.entry from access_log about where about.patients @> array[${pseudonym}]))`;
