import type { Delivery } from './delivery.ts';

/** The columns of a row of inbox for `storedDelivery`. */
export const storedColumns = `id, family, event, client_id, business_id, record_id, version,
  (extract(epoch from event_time) * 1000)::bigint as event_ms, subjects, envelope::text, data::text,
  (extract(epoch from received_at) * 1000000)::bigint as received_us`;

export interface StoredRow {
  id: string;
  family: string;
  event: string;
  client_id: string;
  business_id: string;
  record_id: string;
  version: string;
  event_ms: string;
  subjects: string[];
  envelope: string;
  data: string | null;
  received_us: string;
}

/** A row of inbox. Its body has the keys in PostgreSQL's order, and all digits of its numbers. */
export const storedDelivery = (row: StoredRow): Delivery => ({
  ...{ id: row.id, family: row.family, event: row.event, clientId: row.client_id },
  ...{ businessId: row.business_id, recordId: row.record_id, version: row.version },
  ...{ eventMs: Number(row.event_ms), subjects: row.subjects, body: Buffer.from(row.envelope) },
  ...{ data: row.data ?? undefined, receivedAt: Number(row.received_us) },
});
