import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { diagnose } from '../../src/diagnostics/diagnose.ts';
import type { Finding } from '../../src/diagnostics/finding.ts';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { withClient } from '../../src/store/pool.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { canary } from '../support/canary.ts';
import { spawnReceiver, spawnService } from '../support/process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { post } from '../support/service.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';

const secret = (name: string) => `${canary}-${name}-0123456789`;

let server: TestServer;
let redis: TestRedis;
let databases = 0;
/** Whether Redis has WAITAOF. */
let canWait = false;
beforeAll(async () => {
  // Nothing but the tests writes.
  [server, redis] = await Promise.all([startTestServer(['autovacuum_naptime=1d']), startRedis()]);
  const asked = redis.client().call('WAITAOF', 0, 0, 1);
  canWait = await asked.then(
    () => true,
    () => false,
  );
  await server.rows(`create role app login password '${secret('password')}'`);
  await redis.client().call('ACL', 'SETUSER', 'app', 'on', `>${secret('redis')}`, '~*', '&*', '+@all');
});
afterAll(() => Promise.all([server.stop(), redis.stop()]));
const servers: Server[] = [];
afterEach(() => {
  for (const other of servers.splice(0)) other.close();
});

const urlOf = (database: string, user = 'app', password = secret('password')) =>
  `postgresql://${user}:${password}@127.0.0.1:${server.port}/${database}`;

/** The URL of a new database of the role app. */
async function newDatabase(options = ''): Promise<string> {
  databases += 1;
  await server.rows(`create database doctor_${databases} owner app ${options}`);
  return urlOf(`doctor_${databases}`);
}

/** The settings of a healthy service; each secret is a canary. */
async function healthy(url?: string): Promise<Record<string, string>> {
  return {
    NODE_ENV: 'production',
    DATABASE_URL: url ?? (await newDatabase()),
    REDIS_URL: `redis://app:${secret('redis')}@127.0.0.1:${redis.port}`,
    PORT: String(await freePort()),
    SIGNING_KEYS: `${secret('key')},${secret('old-key')}`,
    ADMIN_TOKEN: secret('token'),
    EVENTS_PATH: `/${secret('path')}`,
    OIDC_CLIENT_SECRET: secret('oidc'),
    OIDC_CLIENT_ID: 'receiver',
    OIDC_ISSUER: 'https://accounts.example',
    METRICS_TOKEN: secret('metrics'),
  };
}

/** What has been written: the next transaction of PostgreSQL, and the changes of Redis. */
async function readWrites() {
  const [row] = await server.rows('select pg_snapshot_xmax(pg_current_snapshot())::text as next');
  const info = await redis.client().info('persistence');
  return { transaction: Number(row!.next), changes: /rdb_changes_since_last_save:\d+/.exec(info)![0] };
}

/** The findings that are not ok, as `status name: detail`; nothing is written, and no secret shown. */
async function faults(env: Record<string, string>): Promise<string[]> {
  const before = await readWrites();
  const findings: Finding[] = await diagnose(env);
  expect(JSON.stringify(findings)).not.toContain(canary);
  const { transaction, changes } = await readWrites();
  expect(changes).toBe(before.changes);
  // The insert of known-good deliveries, which is rolled back.
  expect(transaction - before.transaction).toBeLessThanOrEqual(1);
  return findings
    .filter(({ status }) => status !== 'ok')
    .map(({ status, name, detail }) => `${status} ${name}: ${detail}`);
}

async function run(env: Record<string, string>, ...args: string[]) {
  const command = spawnReceiver(['doctor', ...args], env);
  const code = await command.end();
  expect(command.output()).not.toContain(canary);
  return { code, lines: command.output().trim().split('\n') };
}

/** The port of a server that accepts connections and never responds. */
async function silentPort(): Promise<number> {
  const other = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  servers.push(other);
  await once(other, 'listening');
  return (other.address() as AddressInfo).port;
}

it('a healthy set-up has exit code 0 without a warning, before its first start, after it and while it runs', async () => {
  const env = await healthy();
  const before = await run(env, '--strict');
  expect(before.lines.filter((line) => !line.startsWith('ok '))).toEqual([]);
  expect(before.code).toBe(0);

  const service = await spawnService(env);
  const { url } = service;
  const running = await run(env, '--strict', '--json');
  expect(running.code).toBe(0);
  const findings = running.lines.map((line) => JSON.parse(line) as Finding);
  for (const name of ['store', 'database', 'queue', 'worker', 'fallback', 'access']) {
    expect(findings).toContainEqual(expect.objectContaining({ status: 'ok', name: `readyz: ${name}` }));
  }
  expect(findings).toContainEqual({ status: 'ok', name: 'PORT', detail: `the receiver runs at ${env.PORT}` });
  expect((await post(`${url}${env.EVENTS_PATH}`, receiptCallback())).status).toBe(401);
  await service.end('SIGTERM');

  expect(await faults(env)).toEqual([]);
});

it('keys of callbacks that can be guessed are a warning, and stop nothing', async () => {
  const env = { ...(await healthy()), SIGNING_KEYS: `short,${secret('key')},${'ab'.repeat(10)}` };
  expect(await faults(env)).toEqual([
    expect.stringMatching(/^warn senders: 2 of 3 SIGNING_KEYS can be guessed .* openssl rand -hex 32$/),
  ]);
  const service = await spawnService(env);
  expect(service.output()).toMatch(/"level":40.*2 of 3 SIGNING_KEYS can be guessed/);
  await service.end('SIGTERM');
});

it('faults in the configuration hide neither each other nor a store that is away', async () => {
  const env = await healthy(`postgresql://app:${secret('x')}@127.0.0.1:${await freePort()}/a`);
  const port = await freePort();
  const found = await faults({
    ...env,
    ROLE: 'boss',
    EVENTS_PATH: 'no-slash',
    RECEIPTS_PATH: '/same',
    CONSENT_FORMS_PATH: '/same',
    ADMIN_TOKEN: 'short',
    RETENTON: '1y',
    REDIS_URL: `redis://:${secret('y')}@127.0.0.1:${port}`,
  });
  expect(found).toEqual([
    expect.stringMatching(/^fail configuration: ROLE must be/),
    expect.stringMatching(/^fail configuration: ADMIN_TOKEN must/),
    expect.stringMatching(/^fail configuration: EVENTS_PATH must/),
    expect.stringMatching(/^fail configuration: RECEIPTS_PATH, CONSENT_FORMS_PATH must differ/),
    expect.stringMatching(/^warn configuration: RETENTON is no variable .* did you mean RETENTION\?/),
    expect.stringMatching(/^fail database: nothing listens at 127.0.0.1:\d+\. .* DATABASE_URL/),
    expect.stringMatching(/^fail redis: nothing listens at 127.0.0.1:\d+\. .* REDIS_URL/),
  ]);
});

it('servers that accept connections and never respond are reported, and it ends', async () => {
  const port = await silentPort();
  const env = {
    ...(await healthy(`postgresql://app:${secret('x')}@127.0.0.1:${port}/a`)),
    REDIS_URL: `redis://:${secret('y')}@127.0.0.1:${port}`,
    PORT: String(port),
  };
  const { code, lines } = await run(env);
  expect(code).toBe(1);
  expect(lines.filter((line) => line.startsWith('fail'))).toEqual([
    expect.stringMatching(/^fail +database .* does not answer/),
    expect.stringMatching(/^fail +redis .* does not answer/),
    expect.stringMatching(/^fail +PORT .* is in use/),
  ]);
});

describe('PostgreSQL:', () => {
  it.each([
    ['a wrong password', () => urlOf('postgres', 'app', secret('wrong')), /the password of app is wrong/],
    [
      'an unknown database',
      () => urlOf('nowhere'),
      /no database nowhere\. Run: create database nowhere owner app/,
    ],
    [
      'a host name without address',
      () => `postgresql://a:${secret('x')}@nowhere.invalid/a`,
      /nowhere.invalid does not/,
    ],
    ['a server without TLS', () => `${urlOf('postgres')}?sslmode=require`, /no TLS|not support SSL/],
    ['an address that is none', () => `postgresql://app:${secret('x')}@[/a`, /DATABASE_URL/],
  ])('%s has its own words', async (_, url, words) => {
    const found = await faults(await healthy(url()));
    expect(found).toEqual([expect.stringMatching(words)]);
  });

  it('another encoding than UTF8', async () => {
    const url = await newDatabase(`encoding 'LATIN1' template template0 locale_provider libc locale 'C'`);
    expect(await faults(await healthy(url))).toEqual([
      expect.stringMatching(/LATIN1; it must be UTF8\. Create another/),
    ]);
  });

  it('a read-only database: what it says to run repairs it', async () => {
    const env = await healthy();
    expect(await spawnReceiver(['migrate'], env).end()).toBe(0);
    await server.rows(`alter database doctor_${databases} set default_transaction_read_only = on`);
    const found = await faults(env);
    expect(found).toEqual([
      expect.stringMatching(/^fail database: read-only by default\. Run: /),
      expect.stringMatching(/^fail writing: .* read-only$/),
    ]);
    await server.rows(found[0]!.split('Run: ')[1]!);
    expect(await faults(env)).toEqual([]);
  });

  it('a constraint that refuses every delivery, by its name', async () => {
    const env = await healthy();
    expect(await spawnReceiver(['migrate'], env).end()).toBe(0);
    await withClient(env.DATABASE_URL!, (client) =>
      client.query('alter table inbox add constraint odd check (false)'),
    );
    expect(await faults(env)).toEqual([
      expect.stringMatching(/^fail writing: deliveries cannot be inserted: 23514 .*\(inbox\.odd\)$/),
    ]);
  });

  it('a role without rights: what it says to run repairs it', async () => {
    const { REDIS_URL: _, ...env } = await healthy();
    expect(await spawnReceiver(['migrate'], env).end()).toBe(0);
    await server.rows(`create role other login password '${secret('other')}'`);
    const theirs = { ...env, DATABASE_URL: urlOf(`doctor_${databases}`, 'other', secret('other')) };
    const found = await faults(theirs);
    const names = found.map((line) => line.split(':')[0]);
    expect(names).toEqual(expect.arrayContaining(['fail rights']));
    const fix = /^fail rights: .* Run: (.*)\. Then run receiver migrate/.exec(
      found.find((line) => line.includes('rights'))!,
    )![1]!;
    await server.rows(fix);
    expect(await faults(theirs)).toContainEqual(
      expect.stringMatching(/^fail rights: .* Run receiver migrate/),
    );
    expect(await spawnReceiver(['migrate'], env).end()).toBe(0);
    expect(await faults(theirs)).toEqual([]);
    await server.rows('revoke receiver_service from other');
    expect(await faults(theirs)).toContainEqual(
      expect.stringMatching(/^fail rights: .* Run: grant receiver_service to other$/),
    );
  });

  it('DIRECT_DATABASE_URL that leads to another database', async () => {
    const { REDIS_URL: _, ...env } = await healthy();
    expect(await spawnReceiver(['migrate'], env).end()).toBe(0);
    const other = await newDatabase();
    expect(await spawnReceiver(['migrate'], { DATABASE_URL: other }).end()).toBe(0);
    expect(await faults({ ...env, DIRECT_DATABASE_URL: other })).toEqual([
      expect.stringMatching(/lead to different databases/),
    ]);
  });

  it('a role that may create no tables in an empty database', async () => {
    await server.rows(`create role guest login password '${secret('guest')}'`);
    await newDatabase();
    const env = await healthy(urlOf(`doctor_${databases}`, 'guest', secret('guest')));
    expect(await faults(env)).toEqual([
      expect.stringMatching(/^fail tables: there are none yet, and guest may not create any/),
    ]);
  });

  it('migrations of a newer version, a locked table, an invalid index, old and failed deliveries', async () => {
    const env = await healthy();
    expect(await spawnReceiver(['migrate'], env).end()).toBe(0);
    await withClient(env.DATABASE_URL!, async (client) => {
      await client.query(`
        insert into receiver_migrations (name) values ('9999_later');
        insert into pending_deliveries values (gen_random_uuid(), 'receipt', now() - interval '1 hour');
        insert into failed_deliveries values (gen_random_uuid(), 'receipt', now(), 'x');
        insert into dropped_bodies values (current_date, 'invalid', 7, 1, now());
        create table twice as select 1 as a from generate_series(1, 2)`);
      await client.query('create unique index concurrently twice_a on twice (a)').catch(() => {});
      await client.query('begin; lock table inbox in share mode');
      expect(await faults(env)).toEqual([
        expect.stringMatching(/^fail database: a newer version of the receiver has run 9999_later/),
        expect.stringMatching(
          /^fail writing: .* inbox is locked, by session \d+ \(application .*, role .*, since 20/,
        ),
        expect.stringMatching(/^warn indexes: twice_a is invalid.* reindex index concurrently twice_a$/),
        expect.stringMatching(/^fail deliveries: 1 wait, the oldest for 36\d\d s; 1 failed; /),
        expect.stringMatching(
          /^fail processing: No worker of the family receipt runs\. 1 wait .* Start a worker/,
        ),
        expect.stringMatching(
          /^warn quarantine: 0B of 953.7MB; dropped in 7 days .*: invalid: 7\. Replay or drop/,
        ),
      ]);
    });
  });
});

describe('Redis:', () => {
  it('one that keeps nothing: what it says to run repairs it', async () => {
    const other = await startRedis(['--appendonly', 'no', '--appendfsync', 'everysec']);
    const env = { ...(await healthy()), REDIS_URL: other.url };
    const found = await faults(env);
    expect(found).toEqual([expect.stringMatching(/^fail persistence: appendonly is off/)]);
    expect(readFileSync('docs/deployment.md', 'utf8')).toContain(found[0]!.split(': ').slice(1).join(': '));
    const client = other.client();
    for (const command of found[0]!.split('redis.conf: ')[1]!.split('; ')) {
      const [name, ...args] = command.split(' ');
      await client.call(name!, ...args);
    }
    expect(await faults(env)).toEqual([]);
    await other.stop();
  });

  it.each([
    [
      'a wrong password',
      () => `redis://app:${secret('wrong')}@127.0.0.1:${redis.port}`,
      /another user or password/,
    ],
    [
      'a missing database',
      () => `redis://app:${secret('redis')}@127.0.0.1:${redis.port}/99`,
      /DB index is out of range/,
    ],
    ['TLS where there is none', () => `rediss://app:${secret('redis')}@127.0.0.1:${redis.port}`, /TLS/],
  ])('%s has its own words', async (_, url, words) => {
    const found = await faults({ ...(await healthy()), REDIS_URL: url() });
    expect(found).toEqual([expect.stringMatching(words)]);
  });

  it('a replica', async () => {
    const replica = await startRedis([
      '--replicaof',
      '127.0.0.1',
      String(redis.port),
      '--masteruser',
      'app',
      '--masterauth',
      secret('redis'),
    ]);
    expect(await faults({ ...(await healthy()), REDIS_URL: replica.url })).toEqual([
      expect.stringMatching(/replica/),
    ]);
    await replica.stop();
  });

  it('out of memory', async () => {
    const other = await startRedis();
    await other.client().config('SET', 'maxmemory', '1');
    const found = await faults({ ...(await healthy()), REDIS_URL: other.url });
    expect(found.join()).toMatch(/of maxmemory is in use/);
    expect(found.join()).not.toContain('not permitted');
    await other.stop();
  });

  it('settings that cannot be read, and what to do; trusted, it is only said', async () => {
    const unreadable = ['-config', '-waitaof'].filter((_, index) => index === 0 || canWait);
    await redis
      .client()
      .call('ACL', 'SETUSER', 'blind', 'on', `>${secret('blind')}`, '~*', '+@all', ...unreadable);
    const env = {
      ...(await healthy()),
      REDIS_URL: `redis://blind:${secret('blind')}@127.0.0.1:${redis.port}`,
    };
    expect(await faults(env)).toEqual([
      expect.stringMatching(/^fail persistence: appendfsync cannot be read.*REDIS_FALLBACK=trusted/),
    ]);
    expect(await faults({ ...env, REDIS_FALLBACK: 'trusted' })).toEqual([
      expect.stringMatching(/^warn persistence: REDIS_FALLBACK is trusted/),
    ]);
    expect(await faults({ ...env, REDIS_FALLBACK: 'off' })).toEqual([]);
  });
});

describe('ports:', () => {
  it('one that another program uses', async () => {
    const PORT = String(await silentPort());
    expect(await faults({ ...(await healthy()), PORT })).toEqual([
      `fail PORT: PORT ${PORT} of 127.0.0.1 is in use: stop the program that listens there, or set another PORT`,
    ]);
  });

  it('a service that is not ready is a failure, in its own words', async () => {
    const env = await healthy();
    const service = await spawnService(env);
    await server.rows(`alter database doctor_${databases} allow_connections off`);
    await server.rows(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = 'doctor_${databases}'`,
    );
    const lines = await until(async () => {
      const found = await run(env);
      return found.lines.some((line) => /^fail +readyz: database/.test(line)) && found.lines;
    });
    expect(lines).toContainEqual(expect.stringMatching(/^ok +readyz: store +Redis, until PostgreSQL/));
    await service.end('SIGTERM');
  });
});
