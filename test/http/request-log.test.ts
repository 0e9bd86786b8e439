import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { createLog } from '../../src/common/log.ts';
import { consentFormCallback, paths, receiptCallback } from '../support/callbacks.ts';
import { post, type ServiceOptions, testConfig, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const secret = '7f3a9c1be25d48f06a7b3c9d1e5f8a24';
const adminToken = 'an-admin-token-of-tests';

const { database, start: startService } = useService();
let lines: Record<string, unknown>[];

async function start(options: ServiceOptions = {}) {
  const logged: typeof lines = [];
  lines = logged;
  const log = createLog('silent', { write: (line: string) => logged.push(JSON.parse(line)) });
  return startService({ requestLog: true, adminToken, log, ...options });
}

const logged = (count: number) => until(() => lines.length >= count);

/** Sends bytes on a connection of their own, and reads what comes back. */
async function sendBytes(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(bytes);
  return text(socket);
}

it('each request is a line with its path, status, reason, duration, bytes, source and delivery', async () => {
  const { url } = await start({ limits: { ...testConfig({}).limits, requestMs: 500 } });
  const { id } = (await (await post(url + paths.receipt, receiptCallback())).json()) as { id: string };
  await post(url + paths.receipt, consentFormCallback());
  await fetch(url + paths.receipt);
  await fetch(`${url}/console/deliveries/${id}`, { redirect: 'manual' });
  await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${adminToken}` } });
  await fetch(`${url}/metrics`, { headers: { Authorization: 'Bearer guess' } });
  await logged(6);
  await sendBytes(url, `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`);
  await sendBytes(
    url,
    `POST ${paths.receipt} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
  );
  await logged(8);
  const { receipt: path } = paths;
  expect(
    lines.map(({ method, path, status, reason, delivery }) => ({ method, path, status, reason, delivery })),
  ).toEqual([
    { method: 'POST', path, status: 200, delivery: id },
    { method: 'POST', path, status: 422, reason: 'WrongFamily' },
    { method: 'GET', path, status: 405, reason: 'MethodNotAllowed' },
    { method: 'GET', path: '/console/…', status: 401 },
    { method: 'GET', path: '/metrics', status: 200 },
    { method: 'GET', path: '/metrics', status: 401, reason: 'NotAdmin' },
    { method: null, path: null, status: 431, reason: 'HPE_HEADER_OVERFLOW' },
    { method: 'POST', path, status: 408, reason: 'ERR_HTTP_REQUEST_TIMEOUT' },
  ]);
  for (const line of lines) {
    expect(line).toMatchObject({
      log: 'request',
      source: '127.0.0.1',
      time: expect.any(Number),
      ms: expect.any(Number),
    });
    expect(line.level).toBeUndefined();
    expect(line.sent).toBeGreaterThan(100);
  }
  expect(lines[0]!.received).toBeGreaterThan(Buffer.byteLength(JSON.stringify(receiptCallback())));
  expect(lines[7]!.received).toBeLessThan(200);
});

it('it contains no unguessable part, no query, no unknown path, no body and no header', async () => {
  const base = testConfig({}).paths;
  const { url } = await start({ paths: { ...base, receipt: [`/in/${secret}/receipts`] } });
  const headers = { 'X-CANARY': 'CANARY', 'User-Agent': 'CANARY', Cookie: 'CANARY' };
  const send = (path: string) => post(url + path, '{"CANARY": CANARY', headers);
  for (const path of [
    `/in/${secret}/receipts`,
    `/in/${secret}/receipts/?CANARY=1`,
    `/in/${secret}`,
    '/CANARY?CANARY',
  ])
    await send(path);
  for (const path of ['/console/CANARY', '/console?CANARY', '/console/patients/CANARY'])
    await fetch(url + path, { headers, redirect: 'manual' });
  await logged(7);
  const shown = lines.map(({ path }) => path);
  expect(shown).toEqual([
    '/in/…/receipts',
    '/in/…/receipts',
    null,
    null,
    '/console/…',
    '/console/…',
    '/console/…',
  ]);
  expect(JSON.stringify(lines)).not.toContain('CANARY');
  expect(JSON.stringify(lines)).not.toContain(secret);
});

it('the source is the address that access checks see', async () => {
  const { authentication } = testConfig({});
  const { url } = await start({
    authentication: { ...authentication, trustProxy: 1, allowedIps: ['192.0.2.0/24'] },
  });
  const send = (address: string) =>
    post(url + paths.receipt, receiptCallback(), { 'X-Forwarded-For': address });
  expect((await send('192.0.2.7')).status).toBe(200);
  expect((await send('198.51.100.7')).status).toBe(403);
  await logged(2);
  expect(lines).toMatchObject([
    { source: '192.0.2.7', status: 200 },
    { source: '198.51.100.7', status: 403, reason: 'AddressNotAllowed' },
  ]);
});

it('a sender that leaves before its response is a line with what became of its delivery', async () => {
  const { url } = await start();
  const lock = await database.pool.connect();
  await lock.query('begin; lock table inbox');
  const body = JSON.stringify(receiptCallback({ data: { receipt_id: 5 } }));
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.end(
    `POST ${paths.receipt} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  await until(async () => (await database.rows(`select 1 from pg_locks where not granted`)).length > 0);
  socket.destroy();
  await lock.query('commit');
  lock.release();
  await logged(1);
  expect(lines).toMatchObject([
    { path: paths.receipt, status: 200, reason: 'ResponseAborted', delivery: expect.any(String) },
  ]);
});

it('probes of the health are no lines, and without the variable there are none', async () => {
  const on = await start();
  for (const path of ['/healthz', '/readyz', '/nowhere']) await fetch(on.url + path);
  await logged(1);
  expect(lines).toMatchObject([{ path: null, status: 404, reason: 'NotFound' }]);
  await on.stop();
  const off = await start({ requestLog: false });
  expect((await post(off.url + paths.receipt, receiptCallback())).status).toBe(200);
  await off.stop();
  expect(lines).toEqual([]);
});
