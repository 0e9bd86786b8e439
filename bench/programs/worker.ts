import { Worker } from 'bullmq';
import pg from 'pg';
import { receiptColumns } from '../callbacks.ts';

// One upsert for each job. BullMQ's default is one job at a time.
const concurrency = Number(process.env.CONCURRENCY);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: Math.min(concurrency, 20) });
const columns = Object.keys(receiptColumns);
const text = `
  insert into receipts (${columns.join(', ')}) values (${columns.map((_, index) => `$${index + 1}`).join(', ')})
  on conflict (business_id, receipt_id) do update
  set ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}
  where excluded.updated_at >= receipts.updated_at`;
const worker = new Worker(
  'receipts',
  async ({ data: { business_id, data } }) => {
    const values = columns.map((column) => (column === 'business_id' ? business_id : data[column]));
    await pool.query({ name: 'upsert', text, values });
  },
  { concurrency, connection: { url: process.env.REDIS_URL! } },
);
await worker.waitUntilReady();
process.stdout.write(`${JSON.stringify({ msg: 'ready' })}\n`);
