import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type AddressInfo, connect } from 'node:net';
import { dirname, join } from 'node:path';
import { createServer } from 'node:tls';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { createLog } from '../../src/common/log.ts';
import { checkRedis } from '../../src/queue/check-redis.ts';
import { neededCommands } from '../../src/queue/redis-permissions.ts';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { startRedisCluster } from '../chaos/redis-cluster.ts';
import { startSentinelGroup } from '../chaos/sentinel.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { selfSigned } from '../support/self-signed.ts';

let redis: TestRedis;
let admin: Redis;
beforeAll(async () => {
  redis = await startRedis();
  admin = redis.client();
});
afterAll(() => redis.stop());
const started: { stop: () => Promise<void> }[] = [];
afterEach(() => Promise.all(started.splice(0).map(({ stop }) => stop())));
beforeEach(() => allow('+@all', '~*', '&*'));

const allow = (...rights: string[]) =>
  admin.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>secret', ...rights);
const urlOf = (user: string, path = '') => `redis://${user}@127.0.0.1:${redis.port}${path}`;

/** The message of the check's error, or else what it logs. */
async function check(url: string): Promise<string> {
  const lines: string[] = [];
  const log = createLog('warn', { write: (line) => void lines.push(line) });
  return checkRedis(url, 'receiver', log).then(
    () => lines.map((line) => `${JSON.parse(line).msg}: ${JSON.parse(line).err.message}`).join(),
    (error) => String(error.message),
  );
}

it('accepts a Redis that permits every needed command, and writes nothing there', async () => {
  await allow('+@all', '-@admin', '-keys', '~{receiver}:*');
  expect(await check(urlOf('app:secret'))).toBe('');
  expect(await admin.dbsize()).toBe(0);
});

it('names the missing permissions, and the ACL SETUSER line of its message grants them', async () => {
  const names = [...new Set(neededCommands('').map(([name]) => name))];
  const everything = [...names, 'multi', 'exec', 'discard', 'select'];
  await fc.assert(
    fc.asyncProperty(fc.subarray(names, { minLength: 1 }), fc.boolean(), async (denied, otherKeys) => {
      await allow(...everything.map((name) => `+${name}`), ...denied.map((name) => `-${name}`));
      await admin.call('ACL', 'SETUSER', 'app', otherKeys ? '~other:*' : '~{receiver}:*');
      const given: string[] = [];
      // Missing keys are found only once a command is permitted.
      for (let round = 0; round < 2; round += 1) {
        const [, rights] =
          /^REDIS_URL: .* ACL SETUSER app (.*)$/.exec(await check(urlOf('app:secret', '/3'))) ?? [];
        if (!rights) break;
        given.push(...rights.split(' '));
        await admin.call('ACL', 'SETUSER', 'app', ...rights.split(' '));
      }
      expect(await check(urlOf('app:secret', '/3'))).toBe('');
      const missing = [...denied.map((name) => `+${name}`), ...(otherKeys ? ['~{receiver}:*'] : [])];
      expect(given.toSorted()).toEqual(missing.toSorted());
    }),
    { numRuns: 25 },
  );
});

it('runs no command where transactions are not permitted', async () => {
  await allow('+@all', '~*', '-multi');
  await admin.lpush('{receiver}:check', 'existing');
  expect(await check(urlOf('app:secret'))).toContain('ACL SETUSER app +multi');
  expect(await admin.lrange('{receiver}:check', 0, -1)).toEqual(['existing']);
  await admin.del('{receiver}:check');
});

it('checks every command that the scripts of BullMQ call', () => {
  const folder = join(dirname(createRequire(__filename).resolve('bullmq')), '../esm/scripts');
  const scripts = readdirSync(folder).filter((name) => name.endsWith('.js'));
  const text = scripts.map((name) => readFileSync(join(folder, name), 'utf8')).join();
  const called = text.matchAll(/(?:rcall|redis\.p?call)\(\s*['"](\w+)['"]/g);
  const names = new Set(Array.from(called, ([, name]) => name!.toLowerCase()));
  expect(names.size).toBeGreaterThan(30);
  expect(neededCommands('k').map(([name]) => name)).toEqual(expect.arrayContaining([...names]));
});

it.each([
  ['a wrong password', () => urlOf('app:wrong'), 'rejects the password of the user app'],
  ['an unknown user', () => urlOf('nobody:secret'), 'rejects the password of the user nobody'],
  ['a missing database', () => urlOf('app:secret', '/99'), 'does not permit the database 99'],
])('%s is an error that names REDIS_URL and the cause', async (_, url, cause) => {
  expect(await check(url())).toMatch(new RegExp(`^REDIS_URL: Redis ${cause}`));
});

it('a missing password is an error', async () => {
  await admin.call('ACL', 'SETUSER', 'default', '>own');
  const message = await check(redis.url);
  await admin.call('ACL', 'SETUSER', 'default', 'nopass');
  expect(message).toBe('REDIS_URL: Redis requires a password');
});

it('an untrusted certificate is an error', async () => {
  const server = createServer(selfSigned, (near) => {
    const far = connect(redis.port, '127.0.0.1');
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) socket.on('error', () => {});
  }).listen(0, '127.0.0.1');
  server.on('tlsClientError', () => {});
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  expect(await check(`rediss://127.0.0.1:${port}`)).toBe(
    'REDIS_URL: the TLS connection failed: check the certificates',
  );
  server.close();
});

describe('an unavailable Redis is no error:', () => {
  it.each([
    ['nothing listens', async () => `redis://127.0.0.1:${await freePort()}`],
    ['its host name does not resolve', async () => 'redis://nowhere.invalid'],
    ['no sentinel responds', async () => `redis+sentinel://127.0.0.1:${await freePort()}/mymaster`],
    ['no node of a cluster responds', async () => `redis+cluster://127.0.0.1:${await freePort()}`],
  ])('%s', async (_, url) => {
    expect(await check(await url())).toMatch(
      /^the Redis of REDIS_URL is unavailable; the receiver starts and retries/,
    );
  });

  it('it hangs', async () => {
    redis.process.kill('SIGSTOP');
    const message = await check(redis.url);
    redis.process.kill('SIGCONT');
    expect(message).toContain('of REDIS_URL is unavailable');
  });

  it('it accepts no writes', async () => {
    const replica = await startRedis(['--replicaof', '127.0.0.1', String(redis.port)]);
    expect(await check(replica.url)).toContain('READONLY');
    await replica.stop();
  });
});

it('checks the master of the sentinels, and its name', async () => {
  const group = await startSentinelGroup();
  started.push(group);
  const user = ['ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '+@all', '-hset'] as const;
  await group.primary.client().call(...user);
  expect(await check(group.url)).toBe('');
  expect(await check(group.url.replace('//', '//app:secret@'))).toContain('the command hset');
  expect(await check(group.url.replace('mymaster', 'other'))).toContain('no master named other');
  expect(await check(group.url.replace('//', `//127.0.0.1:${await freePort()},`))).toBe('');
});

it('checks each node of a cluster, and rejects the URL of a single node', async () => {
  const cluster = await startRedisCluster([]);
  started.push(cluster);
  expect(await check(cluster.url)).toBe('');
  for (const [index, node] of cluster.nodes.entries()) {
    const denied = index === 1 ? ['-xadd'] : [];
    await node.client().call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '+@all', ...denied);
  }
  expect(await check(cluster.url.replace('//', '//app:secret@'))).toContain('the command xadd');
  const messages = await Promise.all(cluster.nodes.map((node) => check(node.url)));
  expect(messages.filter((text) => text.includes('redis+cluster://'))).toHaveLength(2);
});
