import { type Config, parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import type { Service } from '../../src/service/service.ts';
import { startWebhook } from '../support/alert-channels.ts';
import { allowConnections, createDatabase, type TestDatabase } from '../support/database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

let webhook: Awaited<ReturnType<typeof startWebhook>>;
let database: TestDatabase;
let redis: TestRedis;
const workers: Service[] = [];

beforeEach(async () => {
  [webhook, database, redis] = await Promise.all([startWebhook(), createDatabase(), startRedis()]);
});
afterEach(async () => {
  await allowConnections(database, true);
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  await Promise.all([webhook.stop(), database.close(), redis.stop()]);
});

async function startWorker(redisUrl?: string): Promise<void> {
  const { alerts } = parseConfig({ ALERT_WEBHOOK_URL: webhook.url }, families);
  const quick: Config['alerts'] = { ...alerts, everyMs: 20, outageMs: 200, settledMs: 200 };
  workers.push(
    await startTestService({ role: 'worker', databaseUrl: database.url, redisUrl, alerts: quick }),
  );
}

/** What began or ended, of each message. */
const lines = () => webhook.messages.map((text) => text.split('\n• ').slice(1).join());

it('an outage of PostgreSQL is one message of a worker with Redis, and its end is another', async () => {
  await startWorker(redis.url);
  await allowConnections(database, false);
  await until(() => webhook.messages.length > 0);
  await allowConnections(database, true);
  await until(() => webhook.messages.length > 1);
  expect(lines()).toEqual([
    'PostgreSQL is unavailable. Callbacks are stored only in Redis until it is restored: do not wipe Redis',
    'PostgreSQL is unavailable: ended after less than a minute',
  ]);
});

it('without Redis, the message of an outage of PostgreSQL says that callbacks get a 503', async () => {
  await startWorker();
  await allowConnections(database, false);
  await until(() => webhook.messages.length > 0);
  await allowConnections(database, true);
  await until(() => webhook.messages.length > 1);
  expect(lines()).toEqual([
    'PostgreSQL is unavailable. Callbacks get a 503 until it is restored; the sender has to resend them',
    'PostgreSQL is unavailable: ended after less than a minute',
  ]);
});

it('where Redis may lose callbacks, the message of an outage of PostgreSQL says that they get a 503, and why', async () => {
  await redis.client().config('SET', 'maxmemory-policy', 'allkeys-lru');
  await startWorker(redis.url);
  await allowConnections(database, false);
  await until(() => lines().some((line) => line.startsWith('PostgreSQL is unavailable')));
  expect(lines().find((line) => line.startsWith('PostgreSQL is unavailable'))).toMatch(
    /Callbacks get a 503 until it is restored; .* Redis acknowledges none: maxmemory-policy is allkeys-lru.*Run, /,
  );
});

it('an outage of Redis is one message of two workers, and its end is another', async () => {
  await startWorker(redis.url);
  await startWorker(redis.url);
  redis.process.kill('SIGKILL');
  await until(() => webhook.messages.length > 0);
  await redis.restart();
  await until(() => webhook.messages.length > 1);
  expect(lines()).toEqual([
    'Redis is unavailable. Callbacks are stored, and wait for it to be restored',
    'Redis is unavailable: ended after less than a minute',
  ]);
});

it('each of two workers sends its own message about an outage of PostgreSQL, once', async () => {
  await startWorker(redis.url);
  await startWorker(redis.url);
  await allowConnections(database, false);
  await until(() => webhook.messages.length > 1);
  await allowConnections(database, true);
  await until(() => webhook.messages.length > 3);
  expect(lines().filter((line) => line.startsWith('PostgreSQL is unavailable. '))).toHaveLength(2);
  expect(lines().filter((line) => line.startsWith('PostgreSQL is unavailable: ended'))).toHaveLength(2);
});
