import type pg from 'pg';
import type { Delivery } from '../../callbacks/delivery.ts';
import { queryPrepared } from './pools.ts';
import { insertAllOrNone, insertUnlessGated } from './statements/insert.ts';

export type StoreResult = 'accepted' | 'duplicate';
/** `gated`: the delivery may concern an erasure, and was not stored. */
type InsertResult = StoreResult | 'gated';
type InsertRow = { id: string | null; result: InsertResult };

/** The columns of a row of inbox as a Delivery, whose body has the keys in PostgreSQL's order and all digits of its numbers. */
export const storedColumns = `id, family, event, client_id as "clientId", business_id as "businessId", record_id as "recordId",
  version, to_jsonb(extract(epoch from event_time) * 1000) as "eventMs", subjects,
  convert_to(envelope::text, 'UTF8') as body, data::text, to_jsonb(extract(epoch from received_at) * 1000000) as "receivedAt"`;

/**
 * Inserts deliveries in one commit; they may contain copies.
 *
 * @param timeoutMs after which the connection is closed
 * @param behindGate in a transaction that has locked the gate's table: all but the gated ones are stored
 * @returns a result for each, in order; where one is `gated`, none is stored
 * @throws the database's error; then none is stored
 */
export async function insertDeliveries(
  pool: pg.Pool,
  deliveries: readonly Delivery[],
  timeoutMs: number,
  behindGate?: pg.ClientBase,
): Promise<InsertResult[]> {
  const query = insertQuery(deliveries, timeoutMs);
  const rows = behindGate
    ? (await behindGate.query<InsertRow>(query)).rows
    : await queryPrepared<InsertRow>(pool, { ...query, text: insertAllOrNone });
  const results = new Map(rows.map(({ id, result }) => [id, result]));
  return deliveries.map(({ id }) => {
    const result = results.get(id);
    // Further copies of the same commit.
    if (result !== 'duplicate') results.set(id, 'duplicate');
    return result ?? 'accepted';
  });
}

export function insertQuery(deliveries: readonly Delivery[], timeoutMs: number) {
  const first = new Map<string, { delivery: Delivery; copies: number }>();
  for (const delivery of deliveries) {
    const known = first.get(delivery.id);
    if (!known) first.set(delivery.id, { delivery, copies: 1 });
    else {
      known.copies += 1;
      if (delivery.receivedAt < known.delivery.receivedAt) known.delivery = delivery;
    }
  }
  return { text: insertUnlessGated, values: [toJsonb([...first.values()])], query_timeout: timeoutMs };
}

/**
 * A jsonb parameter in binary format, which is a version byte and the text: the bodies are sent as received, without being
 * encoded or quoted again.
 */
export function toJsonb(deliveries: readonly { delivery: Delivery; copies: number }[]): Buffer {
  const parts: Buffer[] = [];
  let before = '\u0001[';
  for (const { delivery, copies } of deliveries) {
    const { id, family, event, clientId, businessId, recordId, version, eventMs, subjects, data } = delivery;
    // A template, where only what senders choose is quoted: JSON.stringify of the whole takes three times as long.
    const record = recordId === id ? '' : `"record_id":${JSON.stringify(recordId)},`;
    const stored = delivery.storedAt ? `"stored_at":"${delivery.storedAt}",` : '';
    const merged = data === null ? '' : `"data":${data},`;
    const head =
      `${before}{"id":"${id}","family":"${family}","event":${JSON.stringify(event)},"client_id":${JSON.stringify(clientId)},` +
      `"business_id":${JSON.stringify(businessId)},${record}"version":"${version}","event_ms":${eventMs},` +
      `"subjects":${JSON.stringify(subjects)},"received_us":${delivery.receivedAt},"copies":${copies},${stored}${merged}"envelope":`;
    parts.push(Buffer.from(head), delivery.body);
    before = '},';
  }
  parts.push(Buffer.from('}]'));
  return Buffer.concat(parts);
}
