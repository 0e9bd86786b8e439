import { Kysely, PostgresDialect } from 'kysely';
import type pg from 'pg';
import { earliestMs, saysNothing } from '../families/event-time.ts';
import { type AnyEnvelope, families, patientsBeyond } from '../families/index.ts';
import { withDecimals } from '../receiver/intake/decimal.ts';
import { queryPrepared } from '../receiver/store/prepared.ts';
import { refusedAmong } from '../store/erasure-gate.ts';
import { failure, failureCode } from '../store/failure.ts';
import { isDamaged } from '../store/faults.ts';
import type { Tables } from '../store/tables.ts';
import type { AppendResult, Delivery } from './delivery.ts';
import { eventTimeOf } from './identity.ts';
import { requeue } from './requeue.ts';

/**
 * All deliveries are one JSON array. Rows are inserted in the order of their ids, which prevents deadlocks between
 * receivers. First-time deliveries are not returned.
 *
 * `event_time` is that of a delivery whose envelope does not tell it; else null.
 *
 * Deliveries about erased records or patients are not stored.
 *
 * @param isWhole false: for a damaged page. Neither their status nor their resends are written: they are set aside, with the
 *   reason $2, and applied from inbox
 */
const statement = (isWhole: boolean) => `
with incoming as materialized (
  select id, family, copies, event_time, envelope, patients
  from jsonb_to_recordset($1::jsonb)
    as incoming(id uuid, family text, copies int, event_time jsonb, envelope jsonb, patients jsonb) order by id
), ${refusedAmong('incoming', judgedEnvelope)}, stored as (
  insert into inbox (id, event, family, client_id, business_id, event_time, envelope, patients)
  select id, coalesce(envelope->>'event', envelope->>'event_type'), family, coalesce(envelope->>'client_id', ''),
         coalesce(envelope->>'business_id', ''), ${eventTime}, envelope, ${patientsColumn}
  from incoming
  where id not in (select id from refused)
  on conflict (id) do nothing
  returning id, family, received_at
), pending as (
  ${isWhole ? pending : setAside}
  returning id
), counted as (
  select id, copies, id in (select id from stored) as is_new from incoming where id not in (select id from refused)
)${isWhole ? resent : ''}
select id, 'duplicate' as result from counted where not is_new
union all
select id, 'erased' from refused
union all
-- The error rolls all of it back: a delivery that is in inbox alone would never be applied.
select null, ${failure} where (select count(*) from stored) <> (select count(*) from pending)`;

const eventTime = `callback_time(coalesce(event_time, envelope->'event_time'))`;

const judgedEnvelope = `case when event_time is null then envelope
       else envelope || jsonb_build_object('event_time', event_time) end`;

const pending =
  'insert into pending_deliveries (id, family, received_at) select id, family, received_at from stored';

const setAside = `
  insert into blocked_deliveries (id, family, cause, detail) select id, family, 'damaged', $2 from stored
  on conflict (id) do update set next_at = now()`;

const resent = `, resent as (
  insert into resends (id, count, last_received_at)
  select id, copies - is_new::int, now() from counted where copies > is_new::int
  on conflict (id) do update
    set count = resends.count + excluded.count, last_received_at = excluded.last_received_at
)`;

const patientsColumn =
  'case when patients is not null then array(select jsonb_array_elements_text(patients)) end';

const whole = statement(true);
const withoutStatus = statement(false);

/**
 * Inserts deliveries in one commit; they may contain duplicates.
 *
 * @param options `timeoutMs`: after which the connection is closed; `damage`: which page is damaged, where only inbox is to be
 *   written
 * @returns for each delivery, in order, whether it is new, or is pending again although it was received before
 * @throws the database's error; then none of them is stored
 */
export async function insertDeliveries(
  pool: pg.Pool,
  deliveries: readonly Delivery[],
  { timeoutMs = 30_000, damage }: { timeoutMs?: number; damage?: string } = {},
): Promise<AppendResult[]> {
  const query = insertQuery(deliveries, { timeoutMs, damage });
  const rows = await queryPrepared<{ id: string; result: AppendResult }>(pool, query).catch((cause) => {
    if (cause.code !== failureCode) throw cause;
    throw new Error('A trigger of pending_deliveries drops rows.', { cause });
  });
  const results = new Map(rows.map(({ id, result }) => [id, result]));
  const duplicates = rows.flatMap(({ id, result }) => (result === 'duplicate' ? [id] : []));
  if (duplicates.length > 0) {
    const stateless = await findStateless(pool, duplicates, timeoutMs);
    for (const [id, result] of await restore(pool, stateless)) results.set(id, result);
  }
  return deliveries.map(({ id }) => {
    const result = results.get(id);
    if (!result || result === 'accepted') results.set(id, 'duplicate');
    return result ?? 'accepted';
  });
}

/** The statement that inserts deliveries. */
export function insertQuery(
  deliveries: readonly Delivery[],
  { timeoutMs, damage }: { timeoutMs: number; damage?: string | undefined },
) {
  const counts = new Map<string, number>();
  const distinct: Delivery[] = [];
  for (const delivery of deliveries) {
    const count = counts.get(delivery.id) ?? 0;
    if (count === 0) distinct.push(delivery);
    counts.set(delivery.id, count + 1);
  }
  if (damage !== undefined)
    return { text: withoutStatus, values: [asJsonb(distinct, counts), damage], query_timeout: timeoutMs };
  return { text: whole, values: [asJsonb(distinct, counts)], query_timeout: timeoutMs };
}

/**
 * A delivery that was not inserted counts as a duplicate, which is acknowledged: so its row must be there. It is not where
 * a trigger drops rows.
 *
 * @returns the ids of those that have no state, and are not set aside: nothing would apply them. One whose state is on a damaged
 *   page has one; if the page takes it along, the check of states finds that
 * @throws Error
 */
async function findStateless(pool: pg.Pool, ids: readonly string[], timeoutMs: number): Promise<string[]> {
  const find = async (hasState: string) => {
    // `received_at`: the row is read, not the index alone.
    const text = `select id, received_at, ${hasState} as "hasState" from inbox i where id = any($1::uuid[])`;
    const query = { text, values: [ids], query_timeout: timeoutMs };
    const { rows } = await pool.query<{ id: string; hasState: boolean }>(query);
    if (rows.length !== ids.length) throw new Error('A delivery that was not inserted is not in inbox.');
    return rows.filter(({ hasState }) => !hasState).map(({ id }) => id);
  };
  try {
    return await find(isKnown);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    return find('true');
  }
}

// Scalar subqueries: they are never hashed, which would read the whole tables.
const isKnown = `coalesce(${['applied', 'pending', 'failed', 'blocked'].map((state) => `(select true from ${state}_deliveries s where s.id = i.id)`).join(', ')}, false)`;

/** Makes deliveries that lost their state pending again. @returns how each that is resent is answered */
async function restore(pool: pg.Pool, ids: readonly string[]): Promise<[id: string, result: AppendResult][]> {
  if (ids.length === 0) return [];
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const { pending, refused } = await requeue(db, families, ids);
  return [
    ...pending.map(({ id }): [string, AppendResult] => [id, 'accepted']),
    ...refused.map((id): [string, AppendResult] => [id, 'erased']),
  ];
}

/**
 * A jsonb parameter in binary format, which is a version byte and the text: the bodies are sent as received, without
 * being encoded or quoted again.
 */
function asJsonb(deliveries: readonly Delivery[], counts: ReadonlyMap<string, number>): Buffer {
  const parts: Buffer[] = [];
  let before = '\u0001[';
  for (const delivery of deliveries) {
    const { id, family, body } = delivery;
    const { patients, isTimeDerived } = delivery.isTimeDerived === undefined ? readBody(body) : delivery;
    const time = isTimeDerived ? derivedTime(id) : '';
    const named = patients ? `"patients":${JSON.stringify(patients)},` : '';
    const head = `${before}{"id":"${id}","family":${JSON.stringify(family)},"copies":${counts.get(id)},${time}${named}"envelope":`;
    parts.push(Buffer.from(head), body);
    before = '},';
  }
  parts.push(Buffer.from('}]'));
  return Buffer.concat(parts);
}

/** Reads what the insert needs of a delivery from the fallback store, whose body PostgreSQL may refuse. */
function readBody(body: Buffer): Pick<Delivery, 'patients' | 'isTimeDerived'> {
  const json = body.toString();
  try {
    const envelope = withDecimals(json, JSON.parse(json)) as Pick<AnyEnvelope, 'event_time' | 'data'>;
    return { patients: patientsBeyond(envelope) ?? null, isTimeDerived: saysNothing(envelope.event_time) };
  } catch {
    return {};
  }
}

/** The member for the event time; an id that an earlier version has made of another rule has none. */
function derivedTime(id: string): string {
  const eventMs = eventTimeOf(id);
  return eventMs >= earliestMs ? `"event_time":${eventMs},` : '';
}
