import { Worker } from 'bullmq';
import { logWorking } from './ready.ts';
import { type ReceiptEnvelope, upsertInto } from './upsert.ts';

const concurrency = Number(process.env.CONCURRENCY);
const upsert = upsertInto(process.env.DATABASE_URL!, Math.min(concurrency, 20));
const worker = new Worker<ReceiptEnvelope>('receipts', (job) => upsert(job.data), {
  concurrency,
  connection: { url: process.env.REDIS_URL! },
});
await worker.waitUntilReady();
logWorking(() => worker.close());
