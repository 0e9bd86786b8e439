import fc from 'fast-check';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { connectRedis, parseRedisUrl } from '../../src/queue/redis.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { spawnReceiver, spawnService, type TestProcess } from '../support/process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let redis: TestRedis;
const processes: TestProcess[] = [];
beforeAll(async () => {
  database = await createDatabase();
  redis = await startRedis(['--user', 'app', 'on', '>secret', '~*', '&*', '+@all', '-info']);
});
afterEach(() => {
  for (const { child } of processes.splice(0)) child.kill('SIGKILL');
});
afterAll(async () => {
  await redis.stop();
  await database.close();
});

const asApp = () => redis.url.replace('//', '//app:secret@');
const environment = () => ({ PORT: '0', DATABASE_URL: database.url, REDIS_URL: asApp() });
const configured = (REDIS_URL: string) => parseConfig({ REDIS_URL }, families).redisUrl!;

/** The entries of a process's log that contain a text. */
const logged = (process: TestProcess, message: string) =>
  process
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.includes(message))
    .map((line) => JSON.parse(line) as { time: number; output?: string });

it('without a needed permission the start fails, and says how to grant it', async () => {
  const service = spawnReceiver(['start'], environment());
  processes.push(service);
  expect(await service.end()).toBe(1);
  expect(service.output()).toContain('ACL SETUSER app +info');
});

it('with a Redis that starts later and does not permit INFO, the receiver responds and stops on SIGTERM', async () => {
  redis.process.kill('SIGKILL');
  const service = await spawnService(environment());
  processes.push(service);
  await redis.restart();
  const admin = redis.client();
  // The worker is connected and waits for a job.
  await until(async () => String(await admin.call('CLIENT', 'LIST')).includes('cmd=bzpopmin'));
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  expect(await service.end('SIGTERM')).toBe(0);
});

it('a command whose permission is revoked is retried at most once a second', async () => {
  const admin = redis.client();
  await admin.call('ACL', 'SETUSER', 'app', '+info');
  const service = await spawnService(environment());
  processes.push(service);
  await until(async () => String(await admin.call('CLIENT', 'LIST')).includes('cmd=bzpopmin'));
  await admin.call('ACL', 'SETUSER', 'app', '-eval', '-evalsha', '-bzpopmin');
  const rejections = async (atLeast: number) => {
    await until(async () => {
      const stats = await admin.info('commandstats');
      const rejected = stats.matchAll(/^cmdstat_(?:eval|evalsha|bzpopmin):.*rejected_calls=(\d+)/gm);
      return [...rejected].reduce((sum, [, calls]) => sum + Number(calls), 0) >= atLeast;
    });
    return performance.now();
  };
  // The worker and the receiver retry; a loop without pauses would retry thousands of times.
  const first = await rejections(1);
  expect((await rejections(30)) - first).toBeGreaterThan(1_900);
  expect(service.output().split('\n').length).toBeLessThan(30);
  await admin.call('ACL', 'SETUSER', 'app', '+@all');
  expect(await service.end('SIGTERM')).toBe(0);
});

it('the output of libraries is logged', async () => {
  const admin = redis.client();
  await admin.call('ACL', 'SETUSER', 'app', '+@all');
  await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
  const service = await spawnService(environment());
  processes.push(service);
  const advice = await until(() => logged(service, 'Eviction policy')[0]);
  expect(advice.output).toContain('Eviction policy is allkeys-lru');
  const lines = service.output().split('\n');
  expect(lines.filter((line) => line.includes('Eviction') && !line.startsWith('{'))).toEqual([]);
  expect(await service.end('SIGTERM')).toBe(0);
});

describe('a password', () => {
  const connects = async (url: string) => {
    const client = connectRedis(configured(url), 'consumer');
    client.on('error', () => {});
    const who = await client.call('ACL', 'WHOAMI');
    client.disconnect();
    return who;
  };

  it('with any characters works if it is percent-encoded', async () => {
    const admin = redis.client();
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1, unit: 'grapheme' }), async (password) => {
        await admin.call('ACL', 'SETUSER', 'any', 'reset', 'on', `>${password}`, '+@all');
        const url = redis.url.replace('//', `//any:${encodeURIComponent(password)}@`);
        expect(await connects(url)).toBe('any');
      }),
      { numRuns: 40 },
    );
  });

  it.each(['a@b', 'a/b', 'a:b', '@/:', 'a%b', 'a%zz', '100%', 'a#b', 'a?b', ':@'])(
    '%s works without encoding',
    async (password) => {
      await redis.client().call('ACL', 'SETUSER', 'any', 'reset', 'on', `>${password}`, '+@all');
      expect(await connects(redis.url.replace('//', `//any:${password}@`))).toBe('any');
      const [sentinel, cluster] = ['redis+sentinel://', 'rediss+cluster://'].map((scheme) =>
        parseRedisUrl(
          configured(`${scheme}any:${password}@one:1,two:2${scheme.includes('s+c') ? '' : '/name'}`),
        ),
      );
      for (const address of [sentinel, cluster]) {
        expect(address).toMatchObject({
          access: { username: 'any', password },
          nodes: [{ port: 1 }, { port: 2 }],
        });
      }
    },
  );

  it.each(['a@b', 'a/b', 'a:b', '@/:', 'a%b', 'a#b'])('of the database may be %s', async (password) => {
    const url = new URL(database.url);
    const user = `user_${Buffer.from(password).toString('hex')}`;
    await database.pool.query(`create role ${user} login superuser password '${password}'`);
    const DATABASE_URL = `postgresql://${user}:${password}@${url.host}${url.pathname}`;
    const command = spawnReceiver(['sql', '--json', 'select current_user'], { DATABASE_URL });
    expect(await command.end()).toBe(0);
    expect(command.output()).toContain(user);
    await database.pool.query(`drop role ${user}`);
  });
});

it.each([
  'redis://127.0.0.1:6379/0?family=4',
  'redis://127.0.0.1:6379/zero',
  'redis://127.0.0.1:port',
  'redis://127.0.0.1/0#x',
  'redis+sentinel://127.0.0.1',
  'redis+cluster://a:1,b:2/3',
  'redis://127.0.0.1/0?user=a@b',
])('rejects the REDIS_URL %s before the start', (REDIS_URL) => {
  expect(() => configured(REDIS_URL)).toThrow(
    expect.objectContaining({ problems: [expect.stringMatching(/^REDIS_URL must be a URL such as/)] }),
  );
});
