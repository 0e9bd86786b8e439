import pg from 'pg';
import type { Envelope } from '../../src/families/index.ts';

export type ReceiptEnvelope = Extract<Envelope, { event: `receipt.${string}` }>;

type Value = string | number | null | undefined | Date;

const times = ['created_at', 'updated_at'] as const;
const plain = [
  'receipt_id',
  'aid',
  'doctor_oid',
  'clinic_id',
  'patient_oid',
  'receipt_number',
  'receipt_url',
  'receipt_status',
  'receipt_amount',
  'additional_discount_value',
  'additional_discount_type',
  'additional_discount_amount',
  'net_amount',
  'name',
  'mobile',
  'flavour',
  'sku_discount_amount',
  'amount_due',
  'archive',
  'remarks',
  'ref_trx_id',
  'payment_id',
  'payment_link',
  'amount_paid',
  'actor',
] as const;
const columns = [
  'business_id',
  'client_id',
  'last_event',
  'event_time',
  'extra',
  'delivery_id',
  'received_at',
  'applied_at',
  ...times,
  ...plain,
];

const text = `
insert into receipts (${columns.join(', ')})
values (${columns.map((_, index) => `$${index + 1}`).join(', ')})
on conflict (business_id, receipt_id) do update
set ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}
where (excluded.event_time, excluded.updated_at) >= (receipts.event_time, receipts.updated_at)`;

const noDelivery = '00000000-0000-0000-0000-000000000000';
const time = (value: unknown) =>
  typeof value !== 'number' ? null : new Date(value > 1e11 ? value : value * 1000);

/** One upsert per receipt, as a prepared statement on a pool of connections. */
export function upsertInto(url: string, connections: number): (receipt: ReceiptEnvelope) => Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  return async ({ business_id, client_id, event, event_time, data }) => {
    const now = new Date();
    const values: Value[] = [business_id, client_id, event, time(event_time), '{}', noDelivery, now, now];
    for (const name of times) values.push(time(data[name]));
    for (const name of plain) values.push(data[name] as Value);
    await pool.query({ name: 'upsert', text, values });
  };
}
