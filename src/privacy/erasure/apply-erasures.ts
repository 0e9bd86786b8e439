import { type RawBuilder, sql } from 'kysely';
import type { Family } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';
import { add, type Counts, sum } from '../counts.ts';
import { logAccess } from '../log/access-log.ts';
import { continueErasures, type ErasureOptions } from './erase.ts';
import { erasePseudonyms } from './erase-pseudonyms.ts';
import { eraseDeliveries, eraseQuarantined, forgetDrift, keepTotals } from './erase-rows.ts';
import { addToList, type ErasureList, reopenCertificates } from './erasure-list.ts';
import { afterStatementsInProgress, inStep } from './erasure-lock.ts';
import { readBodies } from './find-in-quarantine.ts';

const windowSize = 5_000;

/**
 * Applies a list of erasures to a restored database: what the backup brought back is erased again, and nothing of it can
 * come in. It reads every delivery once.
 *
 * @param onProgress called with the number of deliveries that were read
 * @returns the number of erasures that this database did not know, and of rows that were erased, by table
 * @throws Error where the list belongs to another database; ErasureDelayed
 */
export async function applyErasures(
  db: Db,
  families: readonly Family[],
  list: ErasureList,
  { actor, keepMs }: ErasureOptions,
  onProgress: (count: number) => void = () => {},
) {
  const erasures = await inStep(db, (tx) => addToList(tx, list));
  await afterStatementsInProgress(db);
  await continueErasures(db, families, { keepMs });
  const counts: Counts = {};
  for (let last: string | undefined = '00000000-0000-0000-0000-000000000000'; last; ) {
    const window = await findErased(
      db,
      sql`from inbox where id > ${last}::uuid order by id limit ${windowSize}`,
    );
    last = window.last;
    for (const found of window.erasures)
      add(counts, await inStep(db, (tx) => eraseMatching(tx, families, found, { keepMs })));
    onProgress(window.read);
  }
  add(counts, await eraseQuarantine(db, families, keepMs));
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

/** Deliveries that an erasure has erased, and the hashes of their patients. */
export interface Found {
  erasure_id: string;
  ids: string[];
  patients: Buffer[];
}

/** Erases deliveries that are there although they were erased. */
export async function eraseMatching(
  tx: Db,
  families: readonly Family[],
  { erasure_id: erasureId, ids, patients }: Found,
  { keepMs }: Pick<ErasureOptions, 'keepMs'>,
): Promise<Counts> {
  const isErased = (id: RawBuilder<unknown>) => sql`${id} = any(${ids}::uuid[])`;
  await keepTotals(tx, families, isErased);
  await forgetDrift(tx, isErased);
  return eraseDeliveries(tx, families, ids, { erasureId, patients, keepMs });
}

/** Some deliveries, and those of them that were erased. @param part the clauses of a query of inbox, from `from` on */
export async function findErased(db: Db, part: RawBuilder<unknown>) {
  const { rows } = await sql<{ last: string | null; read: number; erasures: Found[] }>`
    with part as materialized (
      select id, family, business_id, event_time, envelope, patients ${part}
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
async function eraseQuarantine(db: Db, families: readonly Family[], keepMs: number) {
  let quarantine = 0;
  for await (const bodies of readBodies(db, families))
    quarantine += await inStep(db, (tx) => eraseBodies(tx, JSON.stringify(bodies), keepMs));
  return { quarantine };
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
