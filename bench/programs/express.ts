import { createServer } from 'node:http';
import express from 'express';
import { envelopeSchema, families } from '../../src/families/index.ts';
import { receiptsPath } from '../contenders/contender.ts';
import { listen } from './ready.ts';
import type { ReceiptEnvelope } from './upsert.ts';

/** Where a valid receipt is stored; the program's argument chooses. Each imports only what it uses. */
const stores: Record<string, () => Promise<(receipt: ReceiptEnvelope) => Promise<unknown>>> = {
  none: async () => async () => {},
  table: async () => {
    const { upsertInto } = await import('./upsert.ts');
    return upsertInto(process.env.DATABASE_URL!, 10);
  },
  queue: async () => {
    const { Queue } = await import('bullmq');
    const queue = new Queue('receipts', { connection: { url: process.env.REDIS_URL! } });
    return (receipt) => queue.add(receipt.event, receipt, { removeOnComplete: true });
  },
  'pg-boss': async () => {
    const { default: PgBoss } = await import('pg-boss');
    // Its worker does the maintenance.
    const options = { max: 20, supervise: false, schedule: false };
    const boss = await new PgBoss({ connectionString: process.env.DATABASE_URL!, ...options }).start();
    return (receipt) => boss.send('receipts', receipt);
  },
  'graphile-worker': async () => {
    const { makeWorkerUtils } = await import('graphile-worker');
    const { addJob } = await makeWorkerUtils({
      connectionString: process.env.DATABASE_URL!,
      maxPoolSize: 20,
    });
    return (receipt) => addJob('receipts', receipt);
  },
};

// The usual way: Express, its JSON parser, the schema, a store, a response.
const store = await stores[process.argv[2]!]!();
const schema = envelopeSchema(families);
const app = express();
app.use(express.json({ limit: '256kb' }));
app.post(receiptsPath, async (req, res) => {
  const parsed = schema.safeParse(req.body);
  if (!parsed.success) {
    res.status(422).json({ status: 'rejected' });
    return;
  }
  await store(parsed.data as ReceiptEnvelope);
  res.json({ status: 'accepted' });
});
listen(createServer(app));
