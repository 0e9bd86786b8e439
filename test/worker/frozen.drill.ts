import { countRepeatedWrites, noteWrites } from '../chaos/repeated-writes.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { allowConnections, useDatabase } from '../support/database.ts';
import { insertCallbacks } from '../support/deliveries.ts';
import { killProcesses, spawnService, type TestProcess } from '../support/process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';

// Takes over after 15 s at most, and a session that was frozen within a transaction ends after 20.
const takeOverMs = 40_000;

const database = useDatabase({ per: 'test' });
let redis: TestRedis;
beforeEach(async () => {
  redis = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
});
afterEach(async () => {
  killProcesses();
  await redis.stop();
});

const env = () => ({ DATABASE_URL: database.url, REDIS_URL: redis.url });
const startWorker = () => spawnService({ ...env(), ROLE: 'worker' });
const callbacks = (count: number) =>
  Array.from({ length: count }, (_, n) => receiptCallback({ data: { receipt_id: n + 1 } }));

const isHeld = async (name: string) =>
  (await database.rows('select from leases where name = $1 and until > now()', [name])).length > 0;
const countApplied = async () =>
  (await database.rows('select count(*)::int as n from applied_deliveries'))[0]!.n as number;

/** Another worker goes on, and the frozen one does no harm when it wakes up. */
async function expectTakenOver(frozen: TestProcess, count: number): Promise<void> {
  const other = await startWorker();
  await until(async () => (await countApplied()) === count, takeOverMs);
  frozen.child.kill('SIGCONT');
  // Both work: each is seen to apply what comes now.
  await insertCallbacks(database, [receiptCallback({ data: { receipt_id: 900_000 } })]);
  await until(async () => (await countApplied()) === count + 1, takeOverMs);
  expect(await countRepeatedWrites(database.rows)).toBe(0);
  expect(await frozen.end('SIGTERM')).toBe(0);
  expect(await other.end('SIGTERM')).toBe(0);
}

it('what a worker that is frozen within the sweep had taken is applied by another one', async () => {
  await noteWrites(database.rows);
  const frozen = await startWorker();
  // They have no jobs. The sweep waits for Redis, and with it whatever it holds.
  redis.process.kill('SIGSTOP');
  await insertCallbacks(database, callbacks(200));
  await database.rows(`update pending_deliveries set received_at = now() - interval '1 minute'`);
  redis.process.kill('SIGCONT');
  await until(() => isHeld('sweep'));
  frozen.child.kill('SIGSTOP');
  await redis.client().flushall();
  await expectTakenOver(frozen, 200);
});

it('what a worker that is frozen within the drain had begun is drained by another one', async () => {
  await noteWrites(database.rows);
  const receiver = await spawnService({ ...env(), ROLE: 'receiver' });
  await allowConnections(database, false);
  await Promise.all(
    callbacks(300).map((callback) =>
      until(async () => (await post(receiver.url + paths.receipt, callback)).status === 200),
    ),
  );
  await allowConnections(database, true);
  const frozen = await startWorker();
  await until(async () => (await isHeld('drain')) || (await countApplied()) > 0);
  frozen.child.kill('SIGSTOP');
  await expectTakenOver(frozen, 300);
  expect(await receiver.end('SIGTERM')).toBe(0);
});

it('a receiver that is frozen while it renews the lease of the drain stops no worker', async () => {
  await noteWrites(database.rows);
  const receiver = await spawnService({ ...env(), ROLE: 'receiver' });
  const frozen = await spawnService({ ...env(), ROLE: 'receiver' });
  // A renewal, every ten seconds, waits for Redis.
  const token = async () => (await database.rows('select token from database_identity'))[0]!.token;
  const before = await token();
  await until(async () => (await token()) !== before, 30_000);
  redis.process.kill('SIGSTOP');
  frozen.child.kill('SIGSTOP');
  redis.process.kill('SIGCONT');
  await allowConnections(database, false);
  await Promise.all(
    callbacks(100).map((callback) =>
      until(async () => (await post(receiver.url + paths.receipt, callback)).status === 200),
    ),
  );
  await allowConnections(database, true);
  await expectTakenOver(frozen, 100);
  expect(await receiver.end('SIGTERM')).toBe(0);
});
