import { randomUUID } from 'node:crypto';
import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { old } from '../../src/health/server.ts';
import { startService } from '../../src/service/service.ts';
import { startTcpProxy, type TcpProxy } from '../chaos/tcp-proxy.ts';
import { adminToken, postForm, signInTo } from '../console/visitor.ts';
import { alertsTo, startWebhook } from '../support/alert-channels.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { post, testConfig } from '../support/service.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let redis: TestRedis;
let link: TcpProxy;
let webhook: Awaited<ReturnType<typeof startWebhook>>;
let service: Awaited<ReturnType<typeof startService>> & { url: string };
let lines: Record<string, unknown>[];

beforeEach(async () => {
  [database, redis, webhook] = await Promise.all([createDatabase(), startRedis(), startWebhook()]);
  link = await startTcpProxy(Number(new URL(database.url).port));
  lines = [];
});
afterEach(async () => {
  await service.stop();
  await link.stop();
  await Promise.all([database.close(), redis.stop(), webhook.stop()]);
});

async function start(role: 'all' | 'receiver', redisUrl?: string) {
  const databaseUrl = Object.assign(new URL(database.url), { port: String(link.port) }).href;
  const config = testConfig({
    databaseUrl,
    redisUrl,
    role,
    adminToken,
    pageTimeoutMs: 5_000,
    timeLimits: { databaseMs: 5_000, redisMs: 5_000, readinessMs: 5_000 },
    alerts: alertsTo(webhook.url),
    sweep: { everyMs: 100, olderThanMs: 100 },
  });
  const log = createLog('info', { write: (line: string) => lines.push(JSON.parse(line)) });
  service = (await startService(config, families, log)) as typeof service;
}
const line = (message: string) => until(() => lines.find(({ msg }) => msg === message));
const readiness = async () => {
  const response = await fetch(`${service.url}/readyz`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  const { parts } = (await response.json()) as { parts: Record<string, object> };
  return { status: response.status, parts };
};

it('a receiver alone says by /readyz, console, alert and log that a family has no worker', async () => {
  await database.rows(`insert into pending_deliveries values ($1, 'receipt', now() - interval '112 s')`, [
    randomUUID(),
  ]);
  await start('receiver', redis.url);
  const title = 'No worker of the family receipt runs';
  const { status, parts } = await readiness();
  expect(status).toBe(200);
  expect(parts.processing).toEqual({
    ok: false,
    detail: expect.stringMatching(
      `^${title}. 1 wait for more than 60 s, the oldest for 11\\d s. Start a worker`,
    ),
  });
  expect(await line(title)).toMatchObject({ level: 50, problem: 'no worker', subject: 'receipt' });
  await until(() => webhook.messages.some((text) => text.includes(title)));
  const visitor = await signInTo(service.url);
  expect(await visitor.read('/health')).toContain(title);
});

it('a session that holds a snapshot is named by /readyz, Health, an alert and the log', async () => {
  const holder = await database.pool.connect();
  jest.replaceProperty(old, 'seconds', 0);
  try {
    await holder.query('begin isolation level repeatable read');
    const { rows } = await holder.query('select pg_backend_pid() as pid');
    await start('receiver', redis.url);
    const { pid } = rows[0] as { pid: number };
    const title = `Session ${pid} keeps PostgreSQL from removing deleted rows`;
    expect((await readiness()).parts.processing).toEqual({
      ok: true,
      detail: expect.stringContaining(`${title}. session ${pid} (application test, role`),
    });
    expect(await line(title)).toMatchObject({ level: 40, problem: 'old session', subject: String(pid) });
    await until(() => webhook.messages.some((text) => text.includes(title)));
    const visitor = await signInTo(service.url);
    const text = await visitor.read('/health');
    expect(text).toContain(title);
    expect(text).toContain(`select pg_terminate_backend(${pid})`);
  } finally {
    jest.restoreAllMocks();
    holder.release(true);
  }
});

it('a worker has a heartbeat while it runs', async () => {
  await start('all', redis.url);
  const rows = await until(async () => {
    const found = await database.rows('select families from workers');
    return found.length > 0 && found;
  });
  expect(rows).toEqual([{ families: families.map(({ name }) => name) }]);
  await service.stop();
  expect(await database.rows('select 1 from workers')).toEqual([]);
});

it.each([true, false])(
  'while PostgreSQL is away the console says where callbacks are (Redis: %s)',
  async (has) => {
    await start('receiver', has ? redis.url : undefined);
    const visitor = await signInTo(service.url);
    await visitor.read('/health');
    link.cut();
    await until(async () => {
      const { status } = await post(`${service.url}${paths.receipt}`, receiptCallback());
      return status === (has ? 200 : 503);
    });
    const expected = has ? /Callbacks are safe in Redis until then: \d+ since \d{4}-/ : /callbacks get a 503/;
    expect(await visitor.read('/deliveries')).toMatch(expected);
    const signIn = (token: string) => postForm(`${service.url}/console/sign-in`, { token });
    expect(await (await signIn(adminToken)).text()).toMatch(expected);
    expect(await (await signIn('wrong')).text()).not.toMatch(expected);
    expect((await readiness()).parts.processing).toEqual({ ok: false, detail: 'could not be read' });
    await link.restore();
  },
);

it('a Redis that may lose callbacks is named by /readyz, Health, an alert and the log; without PostgreSQL the receiver is not ready', async () => {
  await redis.client().config('SET', 'appendonly', 'no');
  await start('receiver', redis.url);
  const unsafe = /appendonly is off.*Run, and set in redis.conf: CONFIG SET appendonly yes/;
  expect(await readiness()).toMatchObject({
    status: 200,
    parts: { store: { ok: true }, fallback: { ok: false, detail: expect.stringMatching(unsafe) } },
  });
  const title = 'Redis is no fallback store: in an outage of PostgreSQL callbacks would get a 503';
  await until(() => webhook.messages.some((text) => text.includes(title)));
  const visitor = await signInTo(service.url);
  expect(await visitor.read('/health')).toContain(title);
  const about = () => lines.filter(({ msg }) => /fallback store/.test(`${msg}`));
  expect(about()).toEqual([expect.objectContaining({ level: 40, detail: expect.stringMatching(unsafe) })]);
  link.cut();
  await until(async () => (await readiness()).status === 503);
  const send = async () => (await post(`${service.url}${paths.receipt}`, receiptCallback())).status;
  expect(await send()).toBe(503);
  expect(await visitor.read('/deliveries')).toMatch(/Callbacks get a 503 until then.*appendonly is off/);
  await redis.client().config('SET', 'appendonly', 'yes');
  await until(async () => (await readiness()).status === 200 && (await send()) === 200);
  expect(await visitor.read('/deliveries')).toMatch(/Callbacks are safe in Redis until then/);
  await until(() => about().length > 1);
  expect(about()).toHaveLength(2);
  await link.restore();
});
