import { randomUUID } from 'node:crypto';
import { createLog } from '../../src/common/log.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-queue.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createSweep } from '../../src/worker/sweep.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let single: Database;
let enqueued: string[];
beforeEach(async () => {
  database = await createDatabase();
  single = openDatabase(database.url, createLog('silent'), { connections: 1, name: 'sweep' });
  enqueued = [];
});
afterEach(async () => {
  await single.close();
  await database.close();
});

const open = () =>
  createSweep(
    single.db,
    {
      countWaiting: async () => 0,
      enqueueOverdue: async (deliveries: readonly QueuedDelivery[]) => {
        enqueued.push(...deliveries.map(({ id }) => id));
      },
    },
    5_000,
  );

const insert = async (family: string, age: string) => {
  const id = randomUUID();
  await database.rows('insert into pending_deliveries values ($1, $2, now() - $3::interval)', [
    id,
    family,
    age,
  ]);
  return id;
};

it('a delivery that waits behind others, or whose family could not be applied, is found by a later sweep', async () => {
  const sweep = open();
  const paused = await insert('appointment', '2 hours');
  const newer = await insert('receipt', '1 hour');
  await sweep(['receipt']);
  expect(enqueued).toEqual([newer]);
  await sweep(['receipt', 'appointment']);
  expect(enqueued).toEqual([newer, paused, newer]);
});

it('a delivery that is committed long after its arrival is found', async () => {
  const sweep = open();
  await sweep(['receipt']);
  const late = await insert('receipt', '1 hour');
  await sweep(['receipt']);
  expect(enqueued).toEqual([late]);
});
