import type pg from 'pg';
import { other, patientsBeyond } from '../families/index.ts';
import { refusedAmong, uncertainAmong, wordsOfStored } from '../store/erasure-gate.ts';
import { failure, failureCode } from '../store/failure.ts';
import { queryPrepared } from '../store/prepared.ts';
import { withDecimals } from './decimals.ts';
import type { AppendResult, Delivery } from './delivery.ts';
import { wordsOf } from './words.ts';

/**
 * All deliveries are one JSON array. Rows are inserted in the order of their ids, which prevents deadlocks between
 * receivers. First-time deliveries are not returned.
 *
 * Deliveries about erased records or patients are not stored.
 *
 * @param isSearched whether there are deliveries whose words are searched
 */
const statement = (isSearched: boolean) => {
  const ifSearched = (part: string) => (isSearched ? part : '');
  const uncertain = ifSearched(`, ${uncertainAmong('incoming', 'inbox', leftToAPerson)}`);
  const notStored = `(select id from refused${ifSearched(' union all select id from uncertain')})`;
  return `
with incoming as materialized (
  select id, family, copies, envelope, patients${ifSearched(', words')}
  from jsonb_to_recordset($1::jsonb)
    as incoming(id uuid, family text, copies int, envelope jsonb, patients jsonb${ifSearched(', words jsonb')}) order by id
), ${refusedAmong('incoming')}${uncertain}, stored as (
  insert into inbox (id, event, family, client_id, business_id, event_time, envelope, patients)
  select id, coalesce(envelope->>'event', envelope->>'event_type'), family, coalesce(envelope->>'client_id', ''),
         coalesce(envelope->>'business_id', ''), callback_time(envelope->'event_time'), envelope, ${patientsColumn}
  from incoming
  where id not in ${notStored}
  on conflict (id) do nothing
  returning id, family, received_at
), pending as (
  insert into pending_deliveries (id, family, received_at) select id, family, received_at from stored
  returning id
), counted as (
  select id, copies, id in (select id from stored) as is_new from incoming where id not in ${notStored}
), resent as (
  insert into resends (id, count, last_received_at)
  select id, copies - is_new::int, now() from counted where copies > is_new::int
  on conflict (id) do update
    set count = resends.count + excluded.count, last_received_at = excluded.last_received_at
)${ifSearched(`, ${wordsOfStored('incoming')}`)}
select id, 'duplicate' as result from counted where not is_new
union all
select id, 'erased' from refused
union all
-- The error rolls all of it back: a delivery that is in inbox alone would never be applied.
select null, ${failure} where (select count(*) from stored) <> (select count(*) from pending)`;
};

const patientsColumn =
  'case when patients is not null then array(select jsonb_array_elements_text(patients)) end';

const leftToAPerson = {
  event: `coalesce(envelope->>'event', envelope->>'event_type')`,
  content: `jsonb_build_object('family', family, 'client_id', coalesce(envelope->>'client_id', ''), 'envelope', envelope,
                            'patients', ${patientsColumn})`,
};

const withoutWords = statement(false);
const withWords = statement(true);

/**
 * Inserts deliveries in one commit; they may contain duplicates.
 *
 * @param options `timeoutMs`: after which the connection is closed
 * @returns for each delivery, in order, whether it is new
 * @throws the database's error; then none of them is stored
 */
export async function insertDeliveries(
  pool: pg.Pool,
  deliveries: readonly Delivery[],
  { timeoutMs = 30_000 }: { timeoutMs?: number } = {},
): Promise<AppendResult[]> {
  const query = insertQuery(deliveries, { timeoutMs });
  const rows = await queryPrepared<{ id: string; result: AppendResult }>(
    pool,
    query,
    async () => (await pool.query(query)).rows,
  ).catch((cause) => {
    if (cause.code !== failureCode) throw cause;
    throw new Error('A trigger of pending_deliveries drops rows.', { cause });
  });
  const results = new Map(rows.map(({ id, result }) => [id, result]));
  const duplicates = rows.flatMap(({ id, result }) => (result === 'duplicate' ? [id] : []));
  if (duplicates.length > 0) await requireStored(pool, duplicates, timeoutMs);
  return deliveries.map(({ id }) => {
    const result = results.get(id);
    if (!result) results.set(id, 'duplicate');
    return result ?? 'accepted';
  });
}

/** The statement that inserts deliveries. */
export function insertQuery(deliveries: readonly Delivery[], { timeoutMs }: { timeoutMs: number }) {
  const counts = new Map<string, number>();
  const distinct: Delivery[] = [];
  for (const delivery of deliveries) {
    const count = counts.get(delivery.id) ?? 0;
    if (count === 0) distinct.push(delivery);
    counts.set(delivery.id, count + 1);
  }
  const isSearched = distinct.some(({ family }) => family === other.name);
  const text = isSearched ? withWords : withoutWords;
  return { text, values: [asJsonb(distinct, counts)], query_timeout: timeoutMs };
}

/**
 * A delivery that was not inserted counts as a duplicate, which is acknowledged: so its row must be there. It is not where
 * a trigger drops rows.
 *
 * @throws Error
 */
async function requireStored(pool: pg.Pool, ids: readonly string[], timeoutMs: number): Promise<void> {
  const text = 'select from inbox where id = any($1::uuid[])';
  const { rowCount } = await pool.query({ text, values: [ids], query_timeout: timeoutMs });
  if (rowCount !== ids.length) throw new Error('A delivery that was not inserted is not in inbox.');
}

/**
 * A jsonb parameter in binary format, which is a version byte and the text: the bodies are sent as received, without
 * being encoded or quoted again.
 */
function asJsonb(deliveries: readonly Delivery[], counts: ReadonlyMap<string, number>): Buffer {
  const parts: Buffer[] = [];
  let before = '\u0001[';
  for (const delivery of deliveries) {
    const { id, family, body, patients = readPatients(body) } = delivery;
    const named = patients ? `"patients":${JSON.stringify(patients)},` : '';
    const words = family === other.name ? `"words":${JSON.stringify(wordsOf(body.toString()))},` : '';
    const head = `${before}{"id":"${id}","family":${JSON.stringify(family)},"copies":${counts.get(id)},${named}${words}"envelope":`;
    parts.push(Buffer.from(head), body);
    before = '},';
  }
  parts.push(Buffer.from('}]'));
  return Buffer.concat(parts);
}

/** Reads the patients of a delivery from the fallback store, whose body PostgreSQL may refuse. */
function readPatients(body: Buffer): string[] | undefined {
  const json = body.toString();
  try {
    return patientsBeyond(withDecimals(json, JSON.parse(json)) as object);
  } catch {
    return undefined;
  }
}
