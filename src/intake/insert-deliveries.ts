import type pg from 'pg';
import type { AppendResult, Delivery } from './delivery.ts';

// All deliveries are one JSON array. Rows are inserted in the order of their ids, which prevents deadlocks
// between receivers. First-time deliveries are not returned.
const statement = `
with stored as (
  insert into deliveries (id, event, family, client_id, business_id, event_time, envelope, delivery_count)
  select id, envelope->>'event', family, envelope->>'client_id', envelope->>'business_id',
         service_time((envelope->>'event_time')::numeric), envelope, count
  from jsonb_to_recordset($1::jsonb) as incoming(id uuid, family text, count int, envelope jsonb)
  order by id
  on conflict (id) do update
    set delivery_count = deliveries.delivery_count + excluded.delivery_count, last_received_at = now()
  returning id, delivery_count
)
select id, delivery_count from stored where delivery_count > 1`;

/**
 * Inserts deliveries in one commit; they may contain duplicates.
 *
 * @param timeoutMs after which the connection is closed
 * @returns for each delivery, in order, whether it is new
 * @throws the database's error; then none of them is stored
 */
export async function insertDeliveries(
  pool: pg.Pool,
  deliveries: readonly Delivery[],
  timeoutMs = 30_000,
): Promise<AppendResult[]> {
  const counts = new Map<string, number>();
  const distinct: Delivery[] = [];
  for (const delivery of deliveries) {
    const count = counts.get(delivery.id) ?? 0;
    if (count === 0) distinct.push(delivery);
    counts.set(delivery.id, count + 1);
  }
  const query: pg.QueryConfig & { query_timeout: number } = {
    name: 'insert-deliveries',
    query_timeout: timeoutMs,
    text: statement,
    values: [asJsonb(distinct, counts)],
  };
  const { rows } = await pool.query<{ id: string; delivery_count: number }>(query);
  // A row whose count is that of this commit's copies is new.
  const existing = new Set(
    rows.filter((row) => row.delivery_count > counts.get(row.id)!).map((row) => row.id),
  );
  return deliveries.map(({ id }) => {
    if (existing.has(id)) return 'duplicate';
    existing.add(id);
    return 'accepted';
  });
}

/**
 * A jsonb parameter in binary format, which is a version byte and the text: the bodies are sent as received, without
 * being encoded or quoted again.
 */
function asJsonb(deliveries: readonly Delivery[], counts: ReadonlyMap<string, number>): Buffer {
  const parts: Buffer[] = [];
  let before = '\u0001[';
  for (const { id, family, body } of deliveries) {
    const head = `${before}{"id":"${id}","family":${JSON.stringify(family)},"count":${counts.get(id)},"envelope":`;
    parts.push(Buffer.from(head), body);
    before = '},';
  }
  parts.push(Buffer.from('}]'));
  return Buffer.concat(parts);
}
