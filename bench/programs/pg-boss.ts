import PgBoss from 'pg-boss';
import { logWorking } from './ready.ts';
import { type ReceiptEnvelope, upsertInto } from './upsert.ts';

const connectionString = process.env.DATABASE_URL!;
const upsert = upsertInto(connectionString, 20);
const boss = new PgBoss({ connectionString, max: 10 });
boss.on('error', (error) => process.stderr.write(`${error.stack}\n`));
await boss.start();

const batchSize = 100;
const options = { batchSize, pollingIntervalSeconds: 0.5, priority: false };
for (let loop = 0; loop < 2; loop += 1) {
  const id: string = await boss.work<ReceiptEnvelope>('receipts', options, async (jobs) => {
    await Promise.all(jobs.map(({ data }) => upsert(data)));
    const done = jobs.map((job) => job.id);
    await boss.deleteJob('receipts', done); // costs less than the update to `completed`
    // More jobs than one batch are waiting: without this they wait until it polls again.
    if (jobs.length === batchSize) boss.notifyWorker(id);
  });
}
logWorking(() => boss.stop());
