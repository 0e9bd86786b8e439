import { type RawBuilder, sql } from 'kysely';
import type { Family } from '../../families/index.ts';
import { patientsNamedIn, subjectOfBody } from '../../intake/subject-of-body.ts';
import type { Db } from '../../store/tables.ts';
import { add, type Counts, sum } from '../counts.ts';
import { isNamed } from '../find-deliveries.ts';
import { logAccess } from '../log/access-log.ts';
import { certificateColumns, continueErasures, type ErasureOptions, eraseDeliveries } from './erase.ts';
import { eraseQuarantined } from './erase-quarantine.ts';
import type { ErasureList } from './erasure-list.ts';
import { afterStatementsInProgress, inStep } from './erasure-lock.ts';
import { forgetDrift } from './forget-drift.ts';
import { hideErasedWords } from './uncertain.ts';
import { keepTotals, type Withholding } from './withhold.ts';

export interface AppliedErasures {
  /** Erasures that this database did not know. */
  erasures: number;
  /** Rows that were erased, by table. */
  counts: Counts;
}

const windowSize = 5_000;
const bodiesPerPage = 500;

/**
 * Applies a list of erasures to a restored database: what the backup brought back is erased again, and nothing of it can
 * come in. It reads every delivery once.
 *
 * @param onProgress called with the number of deliveries that were read
 * @throws Error where the list belongs to another database; ErasureDelayed
 */
export async function applyErasures(
  db: Db,
  families: readonly Family[],
  list: ErasureList,
  { actor, keepMs, keepsTotals }: ErasureOptions,
  onProgress: (count: number) => void = () => {},
): Promise<AppliedErasures> {
  const erasures = await inStep(db, (tx) => addToList(tx, list));
  await afterStatementsInProgress(db);
  await continueErasures(db, families, { keepMs, keepsTotals });
  const receipt = families.find(({ table }) => table === 'receipts');
  const eraseAgain = async (tx: Db, ids: string[], withholding: Withholding) => {
    const isErased = (id: RawBuilder<unknown>) => sql`${id} = any(${ids}::uuid[])`;
    if (keepsTotals && receipt) await keepTotals(tx, receipt, isErased);
    await forgetDrift(tx, isErased);
    return eraseDeliveries(tx, families, ids, withholding);
  };
  const counts: Counts = {};
  for (let last: string | undefined = '00000000-0000-0000-0000-000000000000'; last; ) {
    const window = await readWindow(db, last);
    last = window.last;
    for (const { erasure_id: erasureId, ids, patients } of window.erasures) {
      add(counts, await inStep(db, (tx) => eraseAgain(tx, ids, { erasureId, patients, keepMs })));
    }
    onProgress(window.read);
  }
  add(counts, await eraseQuarantine(db, families, keepMs));
  await hideErasedWords(db, families);
  await erasePseudonyms(db);
  await reopenCertificates(db);
  await logAccess(db, {
    actor,
    action: 'erasures apply',
    filter: { erasures: list.certificates.length },
    rows: sum(counts),
  });
  return { erasures, counts };
}

/** @returns the number of erasures that are new here */
async function addToList(tx: Db, { salt, certificates, erased, words }: ErasureList): Promise<number> {
  const { rows } = await sql<{ salt: string; empty: boolean }>`
    select encode(salt, 'hex') as salt, not exists (select from erased) and not exists (select from patient_holds) as empty
    from erasure_salt`.execute(tx);
  if (rows[0]!.salt !== salt) {
    // A backup of a version without erasures has a new salt.
    if (!rows[0]!.empty)
      throw new Error('This list of erasures belongs to another database, which has its own erasures.');
    await sql`update erasure_salt set salt = decode(${salt}, 'hex')`.execute(tx);
    await sql`truncate patient_pseudonyms`.execute(tx);
    // Their numbers depend on the salt.
    await sql`delete from body_words`.execute(tx);
  }
  const added = await sql`
    insert into erasures (${certificateColumns})
    select ${certificateColumns} from jsonb_populate_recordset(null::erasures, ${JSON.stringify(certificates)}::jsonb)
    on conflict (id) do nothing`.execute(tx);
  await sql`
    insert into erased (hash, until, erasure_id)
    select decode(hash, 'hex'), until, erasure_id
    from jsonb_to_recordset(${JSON.stringify(erased)}::jsonb) as listed (hash text, until timestamptz, erasure_id uuid)
    on conflict (hash) do update
      set until = greatest(erased.until, excluded.until), erasure_id = excluded.erasure_id`.execute(tx);
  await sql`
    insert into erased_words (erasure_id, words, business_id, until, patients)
    select erasure_id, words, business_id, until, array(select decode(one, 'hex') from unnest(patients) as one)
    from jsonb_to_recordset(${JSON.stringify(words)}::jsonb)
      as listed (erasure_id uuid, words bigint[], business_id text, until timestamptz, patients text[])
    on conflict (words, business_id) do update
      set until = greatest(erased_words.until, excluded.until), erasure_id = excluded.erasure_id`.execute(tx);
  return Number(added.numAffectedRows);
}

interface Found {
  erasure_id: string;
  ids: string[];
  patients: Buffer[];
}

/** The next deliveries in the order of their ids, and those of them that were erased. */
async function readWindow(db: Db, after: string) {
  const { rows } = await sql<{ last: string | null; read: number; erasures: Found[] }>`
    with part as materialized (
      select id, family, business_id, event_time, envelope, patients from inbox where id > ${after}::uuid order by id limit ${windowSize}
    ), hashed as materialized (
      select i.id, d.family, business_id as business, d.thing, i.event_time,
             named.patients,
             erasure_hashes(salt, d.family, business_id, d.thing, d.patient) || named.patients || named.things as hashes
      from part i
      cross join erasure_salt
      cross join lateral (
        select thing_family(i.family) as family, thing_of(i.family, envelope) as thing, patient_of(envelope) as patient
        offset 0
      ) d
      cross join lateral (
        select array(select unnest(patient_hashes(salt, business_id, one))
                     from unnest(patients_of(envelope, i.patients)) as one) as patients,
               array(select thing_hash(salt, d.family, business_id, one, d.thing)
                     from unnest(patients_of(envelope, i.patients)) as one where d.thing is not null) as things
        offset 0
      ) named
    ), matched as (
      select distinct on (h.id) h.id, h.family, h.business, h.thing, h.patients, e.erasure_id
      from hashed h join erased e on e.hash = any(h.hashes) and e.until >= h.event_time
      order by h.id, e.until
    ), grouped as (
      select erasure_id, array_agg(id) as ids,
             (select array_agg(distinct hash) from matched m cross join unnest(m.patients) as hash
              where m.erasure_id = matched.erasure_id) as patients
      from matched group by erasure_id
    )
    select (select max(id::text)::uuid from part) as last, (select count(*)::int from part) as read,
           coalesce((select json_agg(grouped) from grouped), '[]') as erasures`.execute(db);
  const { last, read, erasures } = rows[0]!;
  // Bytes are hexadecimal in JSON.
  const toBuffers = (hashes: unknown) =>
    ((hashes ?? []) as string[]).map((hex) => Buffer.from(hex.slice(2), 'hex'));
  return {
    last: last ?? undefined,
    read,
    erasures: erasures.map((found) => ({ ...found, patients: toBuffers(found.patients) })),
  };
}

/** Bodies in the quarantine that were erased, in pages. */
async function eraseQuarantine(
  db: Db,
  families: readonly Family[],
  keepMs: number,
): Promise<{ quarantine: number }> {
  let quarantine = 0;
  for (let last = '00000000-0000-0000-0000-000000000000'; ; ) {
    const { rows: bodies } = await sql<{ id: string; family: string | null; body: Buffer }>`
      select q.id, p.family, q.body from quarantine q left join callback_paths p using (path)
      where q.id > ${last}::uuid order by q.id limit ${bodiesPerPage}`.execute(db);
    if (bodies.length === 0) return { quarantine };
    last = bodies.at(-1)!.id;
    const named = bodies.map(({ id, family, body }) => {
      const sentTo = families.find(({ name }) => name === family);
      return { id, ...subjectOfBody(body, families, sentTo), patients: patientsNamedIn(body) };
    });
    quarantine += await inStep(db, (tx) => eraseBodies(tx, JSON.stringify(named), keepMs));
  }
}

/** @param named what rejected bodies are about, as JSON */
async function eraseBodies(tx: Db, named: string, keepMs: number): Promise<number> {
  const { rows } = await sql<{ erasure_id: string; ids: string[]; patients: Buffer[] }>`
    select e.erasure_id, array_agg(distinct b.id) as ids, array_agg(distinct e.hash) as patients
    from jsonb_to_recordset(${named}::jsonb)
      as b (id uuid, family text, business text, thing text, patient text, patients text[], "eventTime" jsonb)
    cross join erasure_salt
    cross join lateral (select unnest(b.patients) as id union select b.patient) one
    join erased e on e.hash = any(erasure_hashes(salt, b.family, b.business, b.thing, one.id))
      and e.until >= coalesce(callback_time(b."eventTime"), '-infinity')
    group by e.erasure_id`.execute(tx);
  let erased = 0;
  for (const { erasure_id: erasureId, ids, patients } of rows)
    erased += await eraseQuarantined(tx, ids, { erasureId, patients, keepMs });
  return erased;
}

/** The access log names an erased patient no more, unless something of the patient came later. */
async function erasePseudonyms(db: Db): Promise<void> {
  await sql`
    delete from patient_pseudonyms p using erased e
    where e.hash = p.pseudonym
      and not ${isNamed(sql`p.patient_id`)}`.execute(db);
}

/** Withholds again what the backup brought back. */
async function reopenCertificates(db: Db): Promise<void> {
  await sql`
    update erasures set destroy_after = due.last, destroyed_at = null
    from (select erasure_id, max(destroy_at) as last from withheld.records group by erasure_id) due
    where due.erasure_id = erasures.id`.execute(db);
}
