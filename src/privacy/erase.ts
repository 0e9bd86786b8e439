import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Core } from '../feature.ts';
import { applyGate, findCallbacks, gateLock, type RecordKey } from '../receiver/intake/gate.ts';
import { faultOf } from '../receiver/store/errors.ts';
import { fingerprintOf } from '../receiver/store/migrate.ts';
import { inTransaction } from '../receiver/store/pools.ts';
import { mergeLock, mergeStatements, planSettings } from '../receiver/worker/merge-statement.ts';
import { destroyWithheld } from './retention.ts';

export interface Certificate {
  id: string;
  actor: string;
  startedAt: Date;
  completedAt: Date | null;
  /** The callbacks that were reduced, by family. */
  counts: Record<string, number>;
}

export interface EraseOptions {
  actor: string;
  /** Callbacks and bodies of the quarantine that have an id as text, as the preview lists them. */
  also?: readonly string[];
  onProgress?: (callbacks: number) => void;
}

const statementMs = 10_000;
const maxRecords = 20;
const retryMs = 500;
const maxRetries = 20;

/**
 * Erases a patient: what is personal in the patient's callbacks becomes null, and their records are merged again. Amounts,
 * days and deletions stay. Later callbacks of earlier events are stored reduced. The originals are withheld for ERASURE_KEEP.
 *
 * @param subjects of the patient, see identifyPatient
 * @throws the database's error: what was begun is continued by `continueErasures`
 */
export async function erasePatient(
  core: Core,
  subjects: readonly string[],
  { actor, also = [], onProgress }: EraseOptions,
): Promise<Certificate> {
  const id = randomUUID();
  await inTransaction(core.pool, gateLock(statementMs), async (client) => {
    // By a person's word, these callbacks name the patient. A body of the quarantine goes as a whole.
    await client.query(nameSubjects, [also, subjects]);
    await client.query(withholdBodies, [also, id]);
    await client.query(addErasure, [id, subjects, actor]);
    await client.query(addSubjects, [id, subjects]);
    await client.query(addRecords, [id, subjects]);
  });
  return continueErasure(core, id, subjects, onProgress);
}

const nameSubjects = 'update receiver.inbox set subjects = subjects || $2::text[] where id = any($1::uuid[])';
const withholdBodies = `
with gone as (delete from receiver.quarantine where id = any($1::uuid[]) returning *)
insert into receiver.withheld (id, erasure, delivery, received_at) select id, $2, to_jsonb(gone), received_at from gone`;
const addErasure = `
insert into receiver.erasures (id, subjects, actor, until)
select $1, $2, $3, greatest(now(), max(event_time)) from receiver.inbox where subjects && $2::text[]`;
const addSubjects = `
insert into receiver.erased (hash, until, erasure)
select receiver.hash_of(s), (select until from receiver.erasures where id = $1), $1 from unnest($2::text[]) s
on conflict (hash) do update set until = greatest(erased.until, excluded.until), erasure = excluded.erasure`;
// Those that name nobody else.
const addRecords = `
insert into receiver.erased (hash, until, erasure)
select receiver.hash_of(concat_ws(':', 'r', family, business_id, record_id)), 'infinity', $1
from (select distinct business_id, family, record_id from receiver.inbox where subjects && $2::text[]) own
where not exists (
  select from receiver.inbox i, unnest(i.subjects) s
  where (i.business_id, i.family, i.record_id) = (own.business_id, own.family, own.record_id)
    and (s like 'p:%' or s like 'e:%') and s <> all($2)
    and s <> all(array(select 'e:' || receiver.hash_of(mine) from unnest($2) mine))
)
on conflict (hash) do update set until = excluded.until`;

/** Continues erasures that were interrupted. @returns how many @throws AggregateError of those that could not be completed */
export async function continueErasures(core: Core, signal?: AbortSignal): Promise<number> {
  const { rows } = await sql<{ id: string; subjects: string[] }>`
    select id, subjects from receiver.erasures where completed_at is null`.execute(core.db);
  const errors: unknown[] = [];
  for (const { id, subjects } of rows) {
    signal?.throwIfAborted();
    await continueErasure(core, id, subjects).catch((error) => errors.push(error));
  }
  if (errors.length > 0) throw new AggregateError(errors, 'Erasures could not be completed');
  return rows.length;
}

async function continueErasure(
  core: Core,
  id: string,
  subjects: readonly string[],
  onProgress?: (callbacks: number) => void,
): Promise<Certificate> {
  for (let last: RecordKey | undefined; ; ) {
    const { rows } = await sql<RecordKey>`
      select distinct family, business_id as "businessId", record_id as "recordId" from receiver.inbox
      where subjects && ${[...subjects]}::text[] and (${last === undefined} or
        (family, business_id, record_id) > (${last?.family ?? ''}, ${last?.businessId ?? ''}, ${last?.recordId ?? ''}))
      order by 1, 2, 3 limit ${maxRecords}`.execute(core.db);
    if (rows.length === 0) break;
    // Not as an argument: that would not be evaluated without onProgress.
    const reduced = await reduceRecords(core, rows);
    onProgress?.(reduced);
    last = rows.at(-1);
  }
  const { rows } = await sql<Certificate>`
    update receiver.erasures set completed_at = now(), subjects = null where id = ${id}
    returning id, actor, started_at as "startedAt", completed_at as "completedAt", counts`.execute(core.db);
  await destroyWithheld(core);
  return rows[0]!;
}

/**
 * Reduces what of these records belongs to erased people, and merges them.
 *
 * @returns the number of callbacks that were reduced
 */
export async function reduceRecords(core: Core, records: readonly RecordKey[]): Promise<number> {
  const { pool, families, merge } = core;
  const first = `${mergeLock()}; ${gateLock(statementMs)}`;
  const reduce = () =>
    inTransaction(pool, first, async (client) => {
      const ours = await client.query(isOurs, [fingerprintOf(families)]);
      if (ours.rowCount === 0) throw new Error('The tables are made for other families: set FAMILIES');
      const { reductions, removed } = await applyGate(client, families, [], records);
      await client.query(count, [
        reductions.map(({ erasure }) => erasure),
        reductions.map(({ record }) => record.family),
      ]);
      // The plans of a merge; not before: a search by subjects needs others.
      if (removed.length > 0) await client.query(planSettings);
      // Their keys name a person, and nothing would merge them later: their rows go in the same transaction.
      for (const family of families) {
        const own = removed.filter((one) => one.family === family.name);
        if (own.length === 0) continue;
        const keys = [own.map(({ businessId }) => businessId), own.map(({ recordId }) => recordId)];
        const { rows } = await client.query<{ locked: number[] }>(mergeStatements(family).records, [
          fingerprintOf(families),
          false,
          null,
          ...keys,
        ]);
        if (rows[0]!.locked.length > 0) throw new RowLocked();
      }
      return reductions;
    });
  for (let tries = 0; ; tries += 1) {
    try {
      const reductions = await reduce();
      for (const { name } of families) {
        const own = reductions.filter(({ record }) => record.family === name).map(({ record }) => record);
        if (own.length > 0) await merge(name, { records: own, kind: 'erased' });
      }
      return reductions.length;
    } catch (error) {
      if (tries >= maxRetries || !(error instanceof RowLocked || faultOf(error) === 'timeout')) throw error;
      await sleep(retryMs);
    }
  }
}

class RowLocked extends Error {
  constructor() {
    super('Another session locks a row that has to go');
  }
}

const isOurs = `select from receiver.settings where name = 'families' and value = $1`;
const count = `
update receiver.erasures e set counts = e.counts || (
  select jsonb_object_agg(family, n + coalesce((e.counts->>family)::int, 0))
  from (select family, count(*) as n from unnest($1::uuid[], $2::text[]) as r(erasure, family) where erasure = e.id group by family) c
)
where id = any($1) and completed_at is null`;

export interface Preview {
  /** The callbacks that would be reduced, by family and event. */
  callbacks: Record<string, number>;
  /** Those that name others too, who lose them as well: their ids. */
  shared: string[];
  /** Callbacks and bodies of the quarantine that have an id as text: a person decides about them, see `also`. */
  mentions: { id: string; where: 'callback' | 'quarantine' }[];
}

const maxMentions = 200;

/** What an erasure would do. */
export async function previewErasure({ pool, db }: Core, subjects: readonly string[]): Promise<Preview> {
  const found = await inTransaction(pool, 'set transaction read only', (client) =>
    findCallbacks(client, subjects),
  );
  const callbacks: Record<string, number> = {};
  for (const { delivery } of found) callbacks[delivery.event] = (callbacks[delivery.event] ?? 0) + 1;
  const shared = found.filter(({ delivery }) =>
    delivery.subjects.some((one) => one.startsWith('p:') && !subjects.includes(one)),
  );
  const ids = found.map(({ delivery }) => delivery.id);
  const words = subjects.map((subject) => subject.slice(subject.lastIndexOf(':') + 1));
  const { rows: mentions } = await sql<Preview['mentions'][number]>`
    with words as (select '%' || replace(replace(w, '\\', '\\\\'), '%', '\\%') || '%' as word from unnest(${words}::text[]) w)
    (select id, 'callback' as where from receiver.inbox
     where id <> all(${ids}::uuid[]) and envelope::text ilike any(select word from words) order by id limit ${maxMentions})
    union all
    (select id, 'quarantine' from receiver.quarantine
     where encode(body, 'escape') ilike any(select word from words) order by id limit ${maxMentions})`.execute(
    db,
  );
  return { callbacks, shared: shared.map(({ delivery }) => delivery.id), mentions };
}
