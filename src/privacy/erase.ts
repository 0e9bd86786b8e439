import { randomUUID } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import type pg from 'pg';
import type { RecordKey } from '../callbacks/delivery.ts';
import { escapeRegExp } from '../common/plain-text.ts';
import type { Core } from '../receiver/feature.ts';
import { findCallbacks } from '../receiver/gate/find-reductions.ts';
import { applyGate, inGate } from '../receiver/gate/gate.ts';
import { gatedOf } from '../receiver/store/insert-deliveries.ts';
import { type Actor, logAccess } from '../receiver/store/log-access.ts';
import { inTransaction, snapshot } from '../receiver/store/pools.ts';
import type { Db, Tables } from '../receiver/store/tables.ts';
import { namesPatient, patientsIn } from './patient.ts';
import { destroyWithheld } from './retention.ts';

type Certificate = Pick<Selectable<Tables['receiver.erasures']>, 'id' | 'completed_at' | 'counts'>;

interface StepOptions {
  onProgress?: ((callbacks: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** Limit of a statement, and of the attempts at a step. */
const stepMs = 10_000;
const maxRecords = 20;
const maxCallbacks = 1_000;

export class UnknownMessage extends Error {}

/**
 * Erases a patient: what is personal in the patient's callbacks becomes null, and their records are merged again. Amounts,
 * days and deletions stay. Later callbacks of earlier events are stored reduced. The originals are withheld for ERASURE_KEEP.
 *
 * @param subjects of the patient, see identifyPatient
 * @param options `also`: ids of callbacks and bodies of the quarantine that have an id as text, as the preview lists them
 * @returns the certificate, complete unless a row could not be written yet
 * @throws UnknownMessage where `also` has one; the database's error: what was begun is continued by `continueErasures`
 */
export async function erasePatient(
  core: Core,
  actor: Actor,
  subjects: readonly string[],
  { also = [], ...options }: StepOptions & { also?: readonly string[] } = {},
): Promise<Certificate> {
  const ids = [...new Set(also.map((text) => text.toLowerCase()))];
  const isSelected = sql<boolean>`id = any(${ids}::uuid[])`;
  const bodies = core.db.selectFrom('receiver.quarantine').select('id').where(isSelected);
  const stored = core.db.selectFrom('receiver.inbox').select('id').where(isSelected).unionAll(bodies);
  const existing = (await stored.execute()).map((row) => row.id);
  const unknown = ids.filter((selected) => !existing.includes(selected));
  if (unknown.length > 0)
    throw new UnknownMessage(
      `No callback and no rejected message has the id ${unknown.join(', ')}: it is not there any more, perhaps as it is erased already`,
    );
  await logAccess(core, { actor, action: 'erase', subjects });
  const id = randomUUID();
  const deliveries = ids.map((selected) => `d:${selected}`);
  await inGate(core.pool, stepMs, async (client) => {
    await client.query(addErasure, [id, subjects, deliveries, actor.id]);
    await client.query(addHashes, [id]);
    await client.query(addRecords, [id, subjects]);
    await client.query(withholdBodies(namedBodies), [id, ids, subjects]);
  });
  return continueErasure(core, id, [...subjects, ...deliveries], options);
}

/** @param bodies SQL: ids of bodies, each with the erasure that withholds it */
const withholdBodies = (bodies: string) => `
with ${bodies}, gone as (
  delete from receiver.quarantine q using (select distinct on (id) id, erasure from bodies) b where q.id = b.id returning q.*, b.erasure
), withheld as (
  insert into receiver.withheld (id, erasure, family, delivery, received_at)
  select id, erasure, family, jsonb_build_object('delivery', to_jsonb(gone)), received_at from gone on conflict do nothing
)
select receiver.gate(receiver.hash_of('d:' || id), 'infinity', erasure) from gone`;
const namedBodies = `bodies as (
  select id, $1::uuid as erasure from receiver.quarantine q where id = any($2) or ${namesPatient('$3')}
)`;
const gatedBodies = `asked as materialized (
  select id, received_at, unnest(subjects || concat('d:', id)) as subject from receiver.quarantine
), bodies as (
  select id, erasure from asked join receiver.erased_of(array(select subject from asked)) using (subject)
  where erasure = any($1::uuid[]) and received_at <= until
)`;
const addErasure = `
insert into receiver.erasures (id, subjects, patient_hashes, actor, until)
select $1, $2::text[] || $3::text[], array(select receiver.hash_of(s) from unnest($2::text[]) s), $4, greatest(now(), max(event_time))
from receiver.callbacks_with($2)`;
const addHashes = `
select receiver.gate(receiver.hash_of(s), case when s like 'd:%' then 'infinity' else until end, id)
from receiver.erasures, unnest(subjects) s where id = $1`;
// Records that name no other patient.
const addRecords = `
select receiver.gate(receiver.hash_of(receiver.record_subject(family, business_id, record_id)), 'infinity', $1)
from (select distinct business_id, family, record_id from receiver.callbacks_with($2)) own
where not exists (
  select from receiver.inbox i, unnest(i.subjects) s
  where (i.business_id, i.family, i.record_id) = (own.business_id, own.family, own.record_id)
    and (s like 'p:%' or s like 'e:%')
    and receiver.hash_of(s) <> all(array(select receiver.hash_of(mine) from unnest($2) mine))
)`;

/** Continues erasures that were interrupted or have unwritten rows. @returns how many @throws AggregateError */
export async function continueErasures(core: Core, signal?: AbortSignal): Promise<number> {
  const erasures = await unfinished(core.db).execute();
  const errors: unknown[] = [];
  const attempt = (work: Promise<unknown>) => work.catch((error) => errors.push(error));
  for (const { id, subjects } of erasures)
    if (subjects) await attempt(continueErasure(core, id, subjects, { signal }));
  if (erasures.some(({ subjects }) => !subjects)) await attempt(continueList(core, { signal }));
  if (errors.length > 0) throw new AggregateError(errors, 'Erasures could not be completed');
  return erasures.length;
}

const unfinished = (db: Db) =>
  db.selectFrom('receiver.erasures').select(['id', 'subjects']).where('completed_at', 'is', null);

/** @param subjects some name a callback: d:<id> */
async function continueErasure(
  core: Core,
  id: string,
  subjects: readonly string[],
  options: StepOptions,
): Promise<Certificate> {
  const ids = subjects.filter((subject) => subject.startsWith('d:')).map((subject) => subject.slice(2));
  // By an array: without statistics, as after a restore, PostgreSQL would read all callbacks in the order of records.
  const own = sql`array(select id from receiver.callbacks_with(${[...subjects]}))`;
  const { rows } = await sql<RecordKey>`
    select distinct family, business_id as "businessId", record_id as "recordId" from receiver.inbox
    where id = any(${own} || ${ids}::uuid[])`.execute(core.db);
  for (let at = 0; at < rows.length; at += maxRecords)
    await reduceRecords(core, rows.slice(at, at + maxRecords), options);
  return complete(core, id);
}

interface GatedStep {
  last: string | null;
  records: RecordKey[];
}

const noId = '00000000-0000-0000-0000-000000000000';
/** The records of the next callbacks behind an id that an erasure may concern. What is stored meanwhile has passed the gate. */
const gatedAfter = `
with callbacks as materialized (
  select id, family, business_id, record_id, subjects from receiver.inbox where id > $1 order by id limit ${maxCallbacks}
), ${gatedOf('callbacks')}
select max(callbacks.id::text) as last, coalesce(jsonb_agg(distinct jsonb_build_object(
         'family', family, 'businessId', business_id, 'recordId', record_id)) filter (where gated.id is not null), '[]') as records
from callbacks left join gated using (id)`;

/** Continues erasures of a list, which has no subjects: looks at all stored callbacks. */
export async function continueList(core: Core, options: StepOptions): Promise<void> {
  const erasures = await unfinished(core.db).where('subjects', 'is', null).execute();
  for (let last: string | null | undefined = noId; last; ) {
    options.signal?.throwIfAborted();
    const step: pg.QueryResult<GatedStep> = await core.pool.query(gatedAfter, [last]);
    for (const { records } of step.rows) await reduceRecords(core, records, options);
    last = step.rows[0]?.last;
  }
  const ids = erasures.map(({ id }) => id);
  await inGate(core.pool, stepMs, (client) => client.query(withholdBodies(gatedBodies), [ids]));
  for (const id of ids) await complete(core, id);
}

/** Completes an erasure unless a callback of its patients has to be merged. */
async function complete(core: Core, id: string): Promise<Certificate> {
  await mergeWithheld(core, id);
  await sql`
    update receiver.erasures set completed_at = now(), subjects = null
    where id = ${id} and completed_at is null and not exists (
      select from receiver.withheld w join receiver.pending_deliveries using (id) join receiver.erasures e on e.id = w.erasure
      where e.id = ${id} or e.patient_hashes && erasures.patient_hashes
    )`.execute(core.db);
  await destroyWithheld(core);
  const certificate = core.db.selectFrom('receiver.erasures').select(['id', 'completed_at', 'counts']);
  return certificate.where('id', '=', id).executeTakeFirstOrThrow();
}

async function reduceRecords(
  core: Core,
  records: readonly RecordKey[],
  { onProgress, signal }: StepOptions,
): Promise<void> {
  const { pool, families } = core;
  for (let isComplete = records.length === 0; !isComplete; ) {
    signal?.throwIfAborted();
    const reduceStep = (client: pg.ClientBase) => applyGate(client, families, [], records);
    const done = await inGate(pool, stepMs, reduceStep, signal);
    isComplete = done.isComplete;
    await mergeDue(core, new Set(done.reductions.map(({ delivery }) => delivery.family)));
    onProgress?.(done.reductions.length);
  }
}

/** Merges the originals of an erasure that still wait or have failed, at once. */
async function mergeWithheld(core: Core, id: string): Promise<void> {
  const ofErasure = core.db.selectFrom('receiver.withheld').select('id').where('erasure', '=', id);
  const waiting = await core.db
    .updateTable('receiver.pending_deliveries')
    .set({ next_at: sql<Date>`least(next_at, now())` })
    .where('id', 'in', ofErasure)
    .returning('family')
    .execute();
  await mergeDue(core, new Set(waiting.map(({ family }) => family)));
}

/** Merges what is due of families. What cannot be merged now waits for the worker, and the erasure with it. */
async function mergeDue({ merge }: Core, families: ReadonlySet<string>): Promise<void> {
  for (const name of families)
    for (let isFull = true; isFull; ) {
      const result = await merge(name);
      isFull = result.isFull && result.outcome === 'done';
    }
}

export interface Preview {
  /** By event. */
  callbacks: Record<string, number>;
  /** The ids of callbacks of others too, who lose them as well. */
  shared: string[];
  /** The other subjects in these. */
  others: string[];
  /** How many bodies of the quarantine. */
  bodies: number;
  /** Others that have an id as text: a person decides about them, see `also`. */
  mentions: { id: string; where: 'callback' | 'quarantine' }[];
  hasMore: boolean;
}

const maxMentions = 500;

export async function previewErasure({ pool }: Core, subjects: readonly string[]): Promise<Preview> {
  const { callbacks, isOfPatient } = await inTransaction(pool, snapshot, (client) =>
    findCallbacks(client, subjects),
  );
  const counts: Record<string, number> = {};
  for (const { delivery } of callbacks) counts[delivery.event] = (counts[delivery.event] ?? 0) + 1;
  const shared = callbacks.filter(({ ownerHashes }) => !ownerHashes.every(isOfPatient));
  const ids = callbacks.map(({ delivery }) => delivery.id);
  const words = subjects.map(mentionOf);
  const { rows } = await pool.query<Preview['mentions'][number] & { isNamed: boolean }>(
    `(select id, 'callback' as where, false as "isNamed" from receiver.inbox
      where id <> all($2::uuid[]) and envelope::text ~* any($3::text[]) order by id limit $4)
     union all
     (select id, 'quarantine', ${namesPatient('$1')} from receiver.quarantine q
      where ${namesPatient('$1')} or encode(body, 'escape') ~* any($3::text[]) order by 3 desc, id limit $4)`,
    [subjects, ids, words, maxMentions + 1],
  );
  const mentions = rows.flatMap(({ isNamed, ...mention }) => (isNamed ? [] : [mention]));
  return {
    callbacks: counts,
    shared: shared.map(({ delivery }) => delivery.id),
    others: [...new Set(shared.flatMap(({ delivery }) => patientsIn(delivery)))].filter(
      (subject) => !subjects.includes(subject),
    ),
    bodies: rows.length - mentions.length,
    mentions: mentions.slice(0, maxMentions),
    hasMore: rows.length > maxMentions,
  };
}

/** A regular expression for the id of a subject as a word of a text, also as JSON and `encode` write it. */
function mentionOf(subject: string): string {
  const [, kind, id] = /^p:(platform|abha|partner:[^:]*):(.*)$/s.exec(subject)!;
  // With or without hyphens and blanks, as people write it.
  const plain = kind === 'abha' ? [...id!].map(escapeRegExp).join('[-\\s]?') : escapeRegExp(id!);
  const asJson = escapeRegExp(JSON.stringify(id).slice(1, -1));
  const escaped = escapeRegExp(JSON.stringify(id).slice(1, -1).replaceAll('\\', '\\\\'));
  return `(^|[^[:alnum:]])(${[...new Set([plain, asJson, escaped])].join('|')})($|[^[:alnum:]])`;
}
