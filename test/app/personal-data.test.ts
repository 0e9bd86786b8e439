import type { Family } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { paths } from '../support/callbacks.ts';
import { canary, canaryOf } from '../support/canary.ts';
import { coreOf, everything } from '../support/core.ts';
import { allowConnections } from '../support/database.ts';
import { killProcesses, spawnReceiver, spawnService } from '../support/process.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { useRedis } from '../support/redis.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';

const database = useReceiverDatabase();
const redis = useRedis();
afterEach(killProcesses);

/** The text of everything that Redis has. */
async function contents(): Promise<string> {
  const client = redis.client();
  const read: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => client.get(key),
    hash: (key) => client.hgetall(key),
    list: (key) => client.lrange(key, 0, -1),
    set: (key) => client.smembers(key),
    zset: (key) => client.zrange(key, '0', '-1'),
    stream: (key) => client.xrange(key, '-', '+'),
  };
  const keys = await client.keys('*');
  const values = await Promise.all(keys.map(async (key) => [key, await read[await client.type(key)]!(key)]));
  return JSON.stringify(values);
}

it('no log has anything personal, nor after an erasure a table or Redis, whichever store took it', async () => {
  const env = { DATABASE_URL: database.url, REDIS_URL: redis.url, LOG_LEVEL: 'debug' };
  const service = await spawnService(env);
  const person = { patient: { id: `${canary}-P`, name: canary } };
  const callbacks = (families as readonly Family[]).map((family) => ({
    path: paths[family.name as keyof typeof paths],
    body: canaryOf(family, { data: person }),
  }));
  for (const { path, body } of callbacks) expect((await post(service.url + path, body)).status).toBe(200);
  expect((await post(service.url + paths.receipt, `{"name": "${canary}-P ${canary}"`)).status).toBe(400);
  // Redis takes what comes while PostgreSQL is away.
  await allowConnections(database, false);
  const spilled = canaryOf(families[0], { event_time: 1_763_000_000, data: person });
  await until(async () => (await post(service.url + paths[families[0].name], spilled)).status === 200);
  await allowConnections(database, true);
  const countApplied = () => database.count(`deliveries where status = 'applied'`).catch(() => 0);
  await until(async () => (await countApplied()) === callbacks.length + 1);
  const [{ id }] = (await database.rows('select id from quarantine')) as [{ id: string }];
  const args = ['patient', 'erase', `${canary}-P`, '--yes', '--also', id];
  const command = spawnReceiver(args, env);
  expect(await command.end()).toBe(0);
  for (const table of ['receiver.pending_deliveries', 'receiver.withheld'])
    await until(async () => (await database.count(table)) === 0);
  expect(await service.end('SIGTERM')).toBe(0);

  const tables = (await everything(coreOf(database))).split('\n');
  expect(tables.filter((line) => line.includes(canary))).toEqual([]);
  expect(await contents()).not.toContain(canary);
  expect(service.output()).not.toContain(canary);
  expect(command.output()).not.toContain(canary);
});
