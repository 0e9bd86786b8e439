import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTcpProxy, type TcpProxy } from '../chaos/tcp-proxy.ts';
import { adminToken } from '../console/visitor.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { killProcesses, spawnReceiver, spawnService, type TestProcess } from '../support/process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { post } from '../support/service.ts';
import { sign } from '../support/sign.ts';
import { until } from '../support/until.ts';

const dayS = 86_400;
const key = 'a-signing-key-of-tests-that-nobody-guesses';
const title = `The clocks of ${hostname()} and of PostgreSQL differ`;

let database: TestDatabase;
let redis: TestRedis;
let link: TcpProxy;
let folder: string;
let service: TestProcess;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'receiver-clock-'));
  const persistent = ['--appendonly', 'yes', '--appendfsync', 'always'];
  [database, redis] = await Promise.all([createDatabase(), startRedis(persistent)]);
  link = await startTcpProxy(Number(new URL(database.url).port));
});
afterEach(async () => {
  killProcesses();
  await link.stop();
  await Promise.all([database.close(), redis.stop()]);
  rmSync(folder, { recursive: true });
});

const clockFile = () => join(folder, 'clock');

/** The environment of processes whose clock is so many days ahead of PostgreSQL's. */
function environment(days: number, more: Record<string, string> = {}): Record<string, string> {
  writeFileSync(clockFile(), String(days * dayS));
  return {
    DATABASE_URL: Object.assign(new URL(database.url), { port: String(link.port) }).href,
    ADMIN_TOKEN: adminToken,
    NODE_OPTIONS: `--require ${JSON.stringify(join(process.cwd(), 'test/chaos/clock.cjs'))}`,
    CLOCK_FILE: clockFile(),
    ...more,
  };
}

let receiptId = 0;
/** A receipt of some days before or after PostgreSQL's time. */
const receiptAt = (days: number) => {
  const event_time = Math.floor(Date.now() / 1000 + days * dayS);
  return JSON.stringify(receiptCallback({ event_time, data: { receipt_id: ++receiptId } }));
};

/** Sends callbacks, signed now by PostgreSQL's clock. @returns each status of a response, with the result */
const send = (bodies: string[]) =>
  Promise.all(
    bodies.map(async (body) => {
      const headers = { 'X-Webhook-Signature': sign(key, body) };
      const response = await post(service.url + paths.receipt, body, headers);
      const { status } = (await response.json()) as { status: string | number };
      return `${response.status} ${status}`;
    }),
  );
const times = (count: number, result: string) => Array<string>(count).fill(result);
const receipts = (count: number, days = 0) => Array.from({ length: count }, () => receiptAt(days));

const rowsIn = async (table: string) => (await database.rows(`select from ${table}`)).length;
const applied = (count: number) => until(async () => (await rowsIn('receipts')) === count);
const linesWith = (text: string) =>
  service
    .output()
    .split('\n')
    .filter((line) => line.includes(text));
const processing = async () => {
  const headers = { authorization: `Bearer ${adminToken}` };
  const response = await fetch(`${service.url}/readyz`, { headers });
  const { parts } = (await response.json()) as { parts: { processing: { ok: boolean; detail: string } } };
  return { status: response.status, ...parts.processing };
};

it('a receiver that is three days slow takes all good callbacks, signed ones too, and says that its clock is wrong', async () => {
  const env = environment(-3, { SIGNING_KEYS: key });
  service = await spawnService(env);
  expect(await send(receipts(100))).toEqual(times(100, '200 accepted'));
  expect(await send([receiptAt(1.1)])).toEqual(['422 422']);
  const old = receiptAt(0);
  const stale = { 'X-Webhook-Signature': sign(key, old, Math.floor(Date.now() / 1000) - dayS) };
  expect((await post(service.url + paths.receipt, old, stale)).status).toBe(401);
  await applied(100);
  const rejected = await database.rows('select acknowledged from quarantine');
  expect(rejected).toEqual([{ acknowledged: false }]);

  expect(await processing()).toEqual({
    status: 200,
    ok: false,
    detail: expect.stringMatching(`${title}. PostgreSQL's is 2592\\d\\d s ahead: `),
  });
  const doctor = spawnReceiver(['doctor'], env);
  expect(await doctor.end()).toBe(1);
  expect(doctor.output()).toMatch(/clock +2592\d\d s apart from that of PostgreSQL/);

  await until(() => linesWith(`"msg":"${title}"`).length > 0);
  writeFileSync(clockFile(), '0');
  service.child.kill('SIGPROF');
  await until(() => linesWith(`"msg":"ended: ${title}"`).length > 0);
  expect(linesWith(title)).toHaveLength(2);
  expect(await processing()).toMatchObject({ ok: true });
});

it('a receiver that is three days fast calls nothing expired that is not', async () => {
  service = await spawnService(environment(3, { SIGNING_KEYS: key, RETENTION: 'receipt=2d' }));
  expect(await send(receipts(100))).toEqual(times(100, '200 accepted'));
  expect(await send([receiptAt(-1.9), receiptAt(2)])).toEqual(times(2, '200 accepted'));
  expect(await send([receiptAt(-2.1), receiptAt(4.1)])).toEqual(['200 expired', '422 422']);
  await applied(102);
});

it('while PostgreSQL is away the last known difference counts', async () => {
  service = await spawnService(environment(-3, { SIGNING_KEYS: key, REDIS_URL: redis.url }));
  expect(await send(receipts(1))).toEqual(['200 accepted']);
  link.cut();
  expect(await send(receipts(100))).toEqual(times(100, '200 accepted'));
  // Its body can only be kept in PostgreSQL.
  expect(await send([receiptAt(1.1)])).toEqual(['503 503']);
  await link.restore();
  await applied(101);
  expect(await rowsIn('quarantine')).toBe(0);
});

it('what cannot be judged without PostgreSQL is stored in Redis and judged by the drain: the future lands in quarantine', async () => {
  link.cut();
  service = await spawnService(environment(-3, { REDIS_URL: redis.url, RETENTION: 'receipt=30d' }));
  const future = receiptAt(1.1);
  expect(await send([...receipts(100), future, receiptAt(-34)])).toEqual(times(102, '200 accepted'));
  await link.restore();
  await applied(100);
  const parked = await until(async () => {
    const rows = await database.rows('select body::text, acknowledged, errors from quarantine');
    return rows.length > 0 && rows;
  });
  const errors = [{ path: '/event_time', message: 'must not be more than a day in the future' }];
  expect(parked).toEqual([{ body: `\\x${Buffer.from(future).toString('hex')}`, acknowledged: true, errors }]);
  const streams = async () => {
    const found = await redis.client().keys('*:fallback:*');
    return Promise.all(found.map((stream) => redis.client().xlen(stream)));
  };
  await until(async () => (await streams()).every((length) => length === 0));
  expect(await rowsIn('inbox')).toBe(100);
});

it('a signature is not called stale by one clock: 503 while PostgreSQL’s is not known, and 200 once it is', async () => {
  link.cut();
  service = await spawnService(environment(-3, { SIGNING_KEYS: key, REDIS_URL: redis.url }));
  expect(await send(receipts(3))).toEqual(times(3, '503 503'));
  await link.restore();
  await until(async () => (await send(receipts(1)))[0] === '200 accepted');
  expect(await send(receipts(20))).toEqual(times(20, '200 accepted'));
});
