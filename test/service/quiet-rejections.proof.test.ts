import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import fc from 'fast-check';
import { adminToken, postForm } from '../console/visitor.ts';
import { anyCase, type Case } from '../fuzz/cases.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { killProcesses, spawnService } from '../support/process.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Line {
  msg: string;
  [field: string]: unknown;
  counts?: { message: string; count: number }[];
}

let database: TestDatabase;
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(async () => {
  killProcesses();
  await database.close();
});
afterAll(() => agent.destroy());

/** @returns the status; undefined: the connection was closed before */
function send(url: string, { path, method, headers, body }: Omit<Case, 'kind' | 'valid'>) {
  return new Promise<number | undefined>((resolve) => {
    const length = body.length > 0 ? { 'Content-Length': String(body.length) } : {};
    const sent = request(url + path, { method, headers: { ...headers, ...length }, agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
      response.on('error', () => resolve(undefined));
    });
    sent.on('error', () => resolve(undefined));
    sent.end(body.length > 0 ? body : undefined);
  });
}

/** Sends bytes, and resolves when the connection is closed. */
function sendBytes(port: number, bytes: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket
      .resume()
      .on('error', () => {})
      .on('close', () => resolve());
  });
}

const linesOf = (output: string): Line[] =>
  output.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []));

const repeat = (count: number, send: (index: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: count }, (_, index) => send(index)));

/** The kind of a line, or of a count: what says what happened, and not to whom. */
const kindOf = ({ msg, message = msg, family, status, reason, code, action }: Partial<Line>) =>
  JSON.stringify([message, family, status, msg === 'a delivery failed' ? undefined : reason, code, action]);

it('however many bad requests and failing callbacks are sent, the log has the first of each kind, then counts', async () => {
  await database.rows(`alter table receipts add constraint odd check (name <> 'fails')`);
  const service = await spawnService({
    DATABASE_URL: database.url,
    ADMIN_TOKEN: adminToken,
    METRICS_PORT: '0',
    OIDC_ISSUER: 'http://127.0.0.1:1',
    OIDC_CLIENT_ID: 'x',
    OIDC_CLIENT_SECRET: 'a-secret-of-tests',
  });
  const { url } = service;
  const before = linesOf(service.output());
  const metricsUrl = before.find(({ msg }) => msg === 'metrics server started')!.url as string;
  const began = performance.now();

  let rejected = 0;
  const registered: readonly string[] = Object.values(paths).flat();
  const cases = fc.sample(anyCase, 1_000);
  await repeat(cases.length, async (index) => {
    const one = cases[index]!;
    const status = await send(url, one);
    if (status && status >= 400 && status < 500 && registered.includes(one.path)) rejected += 1;
  });
  const callbacks = await repeat(100, (id) =>
    post(url + paths.receipt, receiptCallback({ data: { receipt_id: id + 1, name: 'fails' } })),
  );
  expect(callbacks.map((response) => (response as Response).status)).toEqual(Array(100).fill(200));
  const malformed = [
    'GET\r\n\r\n',
    'x'.repeat(100_000),
    `GET / HTTP/1.1\r\nA: ${'a'.repeat(50_000)}\r\n\r\n`,
    '\x16\x03\x01',
  ];
  const get = (path: string, base = url) =>
    send(base, { path, method: 'GET', headers: {}, body: Buffer.alloc(0) });
  await repeat(60, async (index) => {
    await sendBytes(Number(new URL(url).port), malformed[index % malformed.length]!);
    for (const path of [
      '/%ff',
      '/console/%E0%A4%A',
      '/console/deliveries/%ff',
      '/console/sign-in/start',
      '/console/sign-in/callback?error=x',
    ])
      await get(path);
    for (const base of [url, metricsUrl]) await get('/metrics', base);
    await postForm(`${url}/console/sign-in`, { token: `wrong ${index}` });
  });
  await until(
    async () => (await database.rows(`select 1 from deliveries where status = 'failed'`)).length >= 100,
  );
  const seconds = (performance.now() - began) / 1000;
  expect(await service.end('SIGTERM')).toBe(0);

  const lines = linesOf(service.output()).slice(before.length);
  const counts = lines.flatMap((line) => line.counts ?? []);
  const kinds = new Set([...lines.filter((line) => !line.counts), ...counts].map(kindOf));
  expect(lines.length).toBeLessThan(seconds + kinds.size);
  expect(kinds.size).toBeLessThan(120);
  const full = (text: string) => lines.filter(({ msg }) => msg === text).length;
  const counted = (text: string) =>
    counts.filter(({ message }) => message === text).reduce((sum, { count }) => sum + count, 0);
  expect(full('callback rejected') + counted('callback rejected')).toBeGreaterThanOrEqual(rejected);
  expect(rejected).toBeGreaterThan(300);
  expect([full('a delivery failed'), counted('a delivery failed')]).toEqual([1, 99]);
  expect(lines.filter(({ msg }) => msg === 'request failed' || msg === 'a console page failed')).toEqual([]);
});
