import { Queue } from 'bullmq';
import { expressServer } from './express-app.ts';
import { listening } from './ready.ts';

const queue = new Queue('receipts', { connection: { url: process.env.REDIS_URL! } });

listening(
  expressServer(async (receipt) => {
    await queue.add(receipt.event, receipt, { removeOnComplete: true });
  }),
);
