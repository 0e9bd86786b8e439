import { randomUUID } from 'node:crypto';
import { createLog } from '../../src/common/log.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-queue.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { rememberPendingSince } from '../../src/store/pending-since.ts';
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

const open = (pauses?: number) =>
  createSweep(
    single.db,
    {
      countWaiting: async () => 0,
      enqueueOverdue: async (deliveries: readonly QueuedDelivery[]) => {
        enqueued.push(...deliveries.map(({ id }) => id));
      },
    },
    5_000,
    rememberPendingSince(single.pool, pauses),
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

/** The entries of the index that were read so far, those of deleted rows included. */
const entriesRead = async () => {
  const { rows } = await single.pool
    .query('select pg_stat_force_next_flush()')
    .then(() =>
      single.pool.query(
        `select pg_stat_get_tuples_returned('pending_deliveries_by_age'::regclass)::int as entries`,
      ),
    );
  return rows[0].entries as number;
};

it('while an old snapshot keeps deleted rows, they are read once and not by every sweep', async () => {
  const reader = await database.pool.connect();
  try {
    await reader.query('begin isolation level repeatable read; select 1');
    await single.pool.query(`insert into pending_deliveries
      select gen_random_uuid(), 'receipt', now() - interval '1 hour' from generate_series(1, 20000);
      delete from pending_deliveries`);
    await entriesRead(); // after which the statistics know of them
    const sweep = open(1e6);
    expect(await sweep(['receipt'])).toBe(0);
    const first = await entriesRead();
    for (let time = 0; time < 5; time += 1) await sweep(['receipt']);
    expect(first).toBeGreaterThanOrEqual(20_000);
    expect((await entriesRead()) - first).toBeLessThan(1_000);
  } finally {
    reader.release(true);
  }
});

it('a delivery that waits behind others, or whose family could not be applied, is found by a later sweep', async () => {
  const sweep = open();
  const paused = await insert('appointment', '2 hours');
  const newer = await insert('receipt', '1 hour');
  await sweep(['receipt']);
  expect(enqueued).toEqual([newer]);
  await sweep(['receipt', 'appointment']);
  expect(enqueued).toEqual([newer, paused, newer]);
});

it('a delivery that is committed long after its arrival is found where few rows were deleted', async () => {
  const sweep = open();
  await sweep(['receipt']);
  const late = await insert('receipt', '1 hour');
  await sweep(['receipt']);
  expect(enqueued).toEqual([late]);
});
