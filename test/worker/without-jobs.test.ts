import { families } from '../../src/families/index.ts';
import type { ApplyJob } from '../../src/queue/backend.ts';
import { idsPerJob } from '../../src/queue/delivery-queue.ts';
import { createApplyWithoutJobs } from '../../src/worker/without-jobs.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { insertCallbacks } from '../support/deliveries.ts';

const database = useDatabase();

const names = families.map(({ name }) => name);

it('all that is pending is handed out once, in parts, however new it is', async () => {
  const callbacks = Array.from({ length: 2 * idsPerJob + 1 }, (_, receipt_id) =>
    receiptCallback({ data: { receipt_id } }),
  );
  const ids = await insertCallbacks(database, callbacks);
  const handed: string[][] = [];
  const apply: ApplyJob = async (job) => {
    handed.push(job.ids);
  };
  const found = await createApplyWithoutJobs(database.db, apply, 2)(names);
  expect(found).toBe(ids.length);
  expect(handed.map(({ length }) => length).sort()).toEqual([1, idsPerJob, idsPerJob]);
  expect(handed.flat().sort()).toEqual(ids.toSorted());
});
