import { run } from 'graphile-worker';
import { logWorking } from './ready.ts';
import { type ReceiptEnvelope, upsertInto } from './upsert.ts';

const connectionString = process.env.DATABASE_URL!;
const upsert = upsertInto(connectionString, 20);
const runner = await run({
  taskList: { receipts: (receipt) => upsert(receipt as ReceiptEnvelope) },
  noHandleSignals: true,
  preset: {
    worker: {
      connectionString,
      concurrentJobs: 18,
      maxPoolSize: 20,
      localQueue: { size: 500 },
      completeJobBatchDelay: 25,
      failJobBatchDelay: 25,
    },
  },
});
logWorking(() => runner.stop());
