import { families } from '../../src/families/index.ts';
import { identify } from '../../src/inbox/identity.ts';
import { insertDeliveries } from '../../src/inbox/insert-deliveries.ts';
import type { Database } from '../../src/store/database.ts';
import { applyDeliveries } from '../../src/worker/apply.ts';

const batch = 100;
const batchesARound = 40;

/** Takes out what the reports cost the intake: every index of theirs. */
export async function withoutReports({ pool }: Database): Promise<void> {
  await pool.query(
    'drop schema reporting cascade; alter table deliveries reset (autovacuum_vacuum_insert_scale_factor)',
  );
}

/**
 * Takes batches in and applies them, in turns on each of the databases, so that what else the machine does
 * falls on all alike.
 *
 * @returns for each database the callbacks in a second, each round
 */
export async function compareIntake(databases: Database[], rounds: number): Promise<number[][]> {
  const rates: number[][] = databases.map(() => []);
  for (let round = 0; round <= rounds; round += 1) {
    const order = round % 2 === 0 ? [...databases.keys()] : [...databases.keys()].reverse();
    for (const index of order) {
      const rate = await takeInRound(databases[index]!, round);
      if (round > 0) rates[index]!.push(rate); // the first one warms up
    }
  }
  return rates;
}

async function takeInRound({ pool, db }: Database, round: number): Promise<number> {
  const batches = Array.from({ length: batchesARound }, (_, at) => callbacks(round * batchesARound + at));
  const began = performance.now();
  for (const deliveries of batches) {
    await insertDeliveries(pool, deliveries);
    const ids = deliveries.map(({ id }) => id);
    await applyDeliveries(db, families, ids);
  }
  return (batch * batchesARound * 1000) / (performance.now() - began);
}

/** Seven receipts of ten are new, three are an earlier one's update. */
function callbacks(at: number) {
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
