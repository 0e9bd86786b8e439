import { families } from '../../src/families/index.ts';
import type { Delivery } from '../../src/inbox/delivery.ts';
import { identify } from '../../src/inbox/identity.ts';
import { insertDeliveries } from '../../src/inbox/insert-deliveries.ts';
import type { Database } from '../../src/store/database.ts';
import { applyDeliveries } from '../../src/worker/apply.ts';

const batch = 100;
const warmUp = 50;

/** Takes out what the reports cost the intake: every index of theirs. */
export async function withoutReports({ pool }: Database): Promise<void> {
  await pool.query(
    'drop schema reporting cascade; alter table deliveries reset (autovacuum_vacuum_insert_scale_factor)',
  );
}

/** How long a batch of a hundred callbacks took, the median of all. */
export interface Intake {
  /** Until it is durable, and acknowledged. */
  insertMs: number;
  /** Until its rows are there. */
  applyMs: number;
}

/**
 * Takes batches in and applies them, batch by batch in turns on each of the databases, so that what else the
 * machine does falls on all alike.
 */
export async function compareIntake(databases: Database[], batches: number): Promise<Intake[]> {
  const inserts: number[][] = databases.map(() => []);
  const applies: number[][] = databases.map(() => []);
  for (let at = 0; at < batches + warmUp; at += 1) {
    const deliveries = callbacks(at);
    for (let turn = 0; turn < databases.length; turn += 1) {
      // Another one begins each time: the first finds the caches cold.
      const index = (at + turn) % databases.length;
      const { pool, db } = databases[index]!;
      const began = performance.now();
      await insertDeliveries(pool, deliveries);
      const inserted = performance.now();
      const ids = deliveries.map(({ id }) => id);
      await applyDeliveries(db, families, ids);
      if (at < warmUp) continue;
      inserts[index]!.push(inserted - began);
      applies[index]!.push(performance.now() - inserted);
    }
  }
  return databases.map((_, index) => ({
    insertMs: median(inserts[index]!),
    applyMs: median(applies[index]!),
  }));
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/** Seven receipts of ten are new, three are an earlier one's update. */
function callbacks(at: number): Delivery[] {
  return Array.from({ length: batch }, (_, index) => {
    const updates = index % 10 > 6 && at > 0;
    const receipt = (updates ? at - 1 : at) * batch + index - (updates ? 5 : 0);
    const now = Date.now();
    const callback = {
      event: updates ? 'receipt.updated' : 'receipt.created',
      event_time: Math.floor(now / 1000),
      timestamp: Math.floor(now / 1000),
      client_id: '64a1f0c2e4b0a1b2c3d4e5f6',
      business_id: String(161_000_000_000_000 + (receipt % 199)),
      data: receiptData(10_000_000 + receipt, now),
    };
    return { id: identify(callback), family: 'receipt', json: JSON.stringify(callback) };
  });
}

const receiptData = (receipt_id: number, now: number) => ({
  receipt_id,
  aid: `api-0b8f7f5e-6b1f-4c3c-9d55-${receipt_id}`,
  doctor_oid: String(161_467_756_044_000 + (receipt_id % 900)),
  clinic_id: '64a1f0c2e4b0a1b2c3d4e5f8',
  patient_oid: String(161_467_756_044_203 + receipt_id),
  created_at: now,
  updated_at: now,
  receipt_number: null,
  receipt_url: `https://storage.example/receipts/${receipt_id}-0b8f7f5e6b1f4c3c9d55.pdf`,
  receipt_status: 'SUCCESS',
  receipt_amount: 500.1,
  additional_discount_value: 10,
  additional_discount_type: 'AMOUNT',
  additional_discount_amount: 10.05,
  net_amount: 490.05,
  name: 'आशा राव',
  mobile: '+915900000001',
  flavour: null,
  sku_discount_amount: 0,
  amount_due: receipt_id % 7 === 0 ? 90.05 : 0,
  archive: 0,
  remarks: '',
  ref_trx_id: '',
  payment_id: `pay_${receipt_id}`,
  payment_link: `https://pay.example/${receipt_id}`,
  amount_paid: 400,
  actor: 'doctor',
});
