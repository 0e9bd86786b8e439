import type { SpilledDelivery } from '../../../src/callbacks/delivery.ts';
import { families } from '../../../src/callbacks/families/index.ts';
import { createLog } from '../../../src/common/log.ts';
import { StoreUnavailable } from '../../../src/receiver/store/circuit.ts';
import { Unavailable } from '../../../src/receiver/store/errors.ts';
import { type DrainOptions, startDrain } from '../../../src/receiver/worker/drain.ts';
import { closeLater } from '../../support/close-later.ts';
import { appendSoon, openFallback, readSoon, spilled, stream } from '../../support/fallback.ts';
import { openIntake, receiptOf, routeOf } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { useRedis } from '../../support/redis.ts';
import { type Overrides, testConfig } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const database = useReceiverDatabase('test');
const redis = useRedis('test');
const mebibyte = 1024 * 1024;

async function openStore() {
  const client = redis.client();
  const fallback = await openFallback(redis.url);
  return { fallback, count: () => client.xlen(stream) };
}

function drain(
  fallback: DrainOptions['fallback'],
  intake: DrainOptions['intake'],
  overrides: Overrides = {},
) {
  const times = { drainEveryMs: 1, maxDrainPauseMs: 20, ...overrides.times };
  const config = testConfig({ bodyLimitBytes: 256 * 1024, ...overrides, times });
  const log = createLog('silent');
  const stop = startDrain({ fallback, intake, config, pool: database.pool, families, log });
  closeLater(stop);
  return stop;
}

function fakeIntake(mayStore: (delivery: SpilledDelivery) => boolean) {
  const stored: string[] = [];
  const intake = {
    drain: async (delivery: SpilledDelivery) => {
      if (!mayStore(delivery)) throw new Unavailable(undefined, delivery.id);
      stored.push(delivery.id);
    },
  };
  return { stored, intake };
}

const inbox = () =>
  database.rows(
    'select id, (extract(epoch from received_at) * 1e6)::bigint::text as received_at from receiver.inbox',
  );

it('moves what the intake has spilled into the database, and what is no callback into the quarantine', async () => {
  const { fallback, count } = await openStore();
  const run = () => Promise.reject(new StoreUnavailable('PostgreSQL'));
  const away = openIntake(database, { fallback, circuit: { run } });
  const bodies = Array.from({ length: 50 }, (_, index) => receiptOf(index).body);
  const results = await Promise.all(bodies.map((body) => away.receive(body, routeOf('receipt'))));
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['accepted']));
  const spilled = await readSoon(fallback);
  await fallback.append([{ ...spilled[0]!, body: Buffer.from([255, 0, 1]) }]);
  drain(fallback, openIntake(database));
  await until(async () => (await count()) === 0);
  const rows = await inbox();
  expect(rows).toHaveLength(50);
  expect(rows).toEqual(
    expect.arrayContaining(spilled.map(({ id, receivedAt }) => ({ id, received_at: String(receivedAt) }))),
  );
  const kept = `select convert_from(body, 'UTF8') as body, acknowledged from receiver.quarantine`;
  expect(await database.rows(kept)).toEqual([
    { body: expect.stringContaining('3 bytes that are no JSON'), acknowledged: true },
  ]);
});

it('removes a delivery only once it is stored: what a crash in between repeats is a duplicate', async () => {
  const { fallback, count } = await openStore();
  const deliveries = [receiptOf(1), receiptOf(2)];
  await appendSoon(fallback, deliveries);
  let crashes = 2;
  const crashing: DrainOptions['fallback'] = {
    ...fallback,
    remove: async (entries) => {
      expect(await inbox()).toHaveLength(2);
      if (entries.length > 0 && crashes-- > 0) throw new Error('of a process that ends here');
      await fallback.remove(entries);
    },
  };
  drain(crashing, openIntake(database));
  await until(async () => (await count()) === 0);
  expect(crashes).toBeLessThan(0);
  expect(await inbox()).toHaveLength(2);
});

it('moves what is behind deliveries that cannot be stored now, and moves those once they can be', async () => {
  const { fallback, count } = await openStore();
  const first = await appendSoon(fallback, spilled(10));
  const behind = await appendSoon(fallback, spilled(10));
  const blocked = new Set(first.map(({ id }) => id));
  const { stored, intake } = fakeIntake(({ id }) => !blocked.has(id));
  drain(fallback, intake, { bodyLimitBytes: 2 * mebibyte });
  await until(() => stored.length === 10);
  expect(stored).toEqual(behind.map(({ id }) => id));
  await until(async () => (await count()) === 10);
  const [late] = await appendSoon(fallback);
  await until(() => stored.includes(late!.id));
  blocked.clear();
  await until(async () => (await count()) === 0);
  expect(stored).toHaveLength(21);
});

it('reads no more at once than 8 MiB of the largest bodies', async () => {
  const { fallback, count } = await openStore();
  await appendSoon(fallback, spilled(50));
  const read = jest.fn(fallback.read);
  const { stored, intake } = fakeIntake(() => true);
  const stop = drain({ ...fallback, read }, intake, { bodyLimitBytes: mebibyte });
  await until(async () => (await count()) === 0);
  await stop();
  expect(new Set(read.mock.calls.map(([max]) => max))).toEqual(new Set([8]));
  expect(stored).toHaveLength(50);
});

it('goes on after an outage of both stores, and after one with short pauses', async () => {
  const { fallback, count } = await openStore();
  await appendSoon(fallback, spilled(2));
  let failures = 0;
  // All in a row would pause for two minutes.
  const { stored, intake } = fakeIntake(() => {
    failures += 1;
    return failures % 11 === 0;
  });
  const stop = drain(fallback, intake, { times: { maxDrainPauseMs: 3_600_000 } });
  await until(async () => (await count()) === 0);
  expect(stored).toHaveLength(2);
  await stop();
  const again = fakeIntake(() => true);
  drain(fallback, again.intake);
  await redis.kill();
  await redis.restart();
  const [delivery] = await appendSoon(fallback);
  await until(() => again.stored.includes(delivery!.id));
});

it('leaves to another database what that has claimed', async () => {
  const { fallback, count } = await openStore();
  await appendSoon(fallback);
  await fallback.claim('another');
  const { stored, intake } = fakeIntake(() => true);
  const claim = jest.fn(fallback.claim);
  drain({ ...fallback, claim }, intake);
  await until(() => claim.mock.calls.length > 2);
  expect([stored, await count()]).toEqual([[], 1]);
});

it('ends on the signal, also during a pause', async () => {
  const { fallback } = await openStore();
  await appendSoon(fallback);
  const { intake } = fakeIntake(() => false);
  const remove = jest.fn(fallback.remove);
  const times = { drainEveryMs: 3_600_000, maxDrainPauseMs: 3_600_000 };
  const stop = drain({ ...fallback, remove }, intake, { times });
  await until(() => remove.mock.calls.length > 0);
  await stop();
});
