import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { parseConfig } from '../../src/config.ts';
import { families } from '../../src/families/index.ts';
import type { Service } from '../../src/service.ts';
import { consentFormCallback, paths, receiptCallback } from '../support/callbacks.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { openRedis } from '../support/redis.ts';
import { post, type ServiceOptions, startTestService } from '../support/service.ts';
import { sign } from '../support/sign.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
const services: Service[] = [];
beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.stop()));
});
afterAll(() => database.close());

async function start(env: Record<string, string> = {}, options: ServiceOptions = {}) {
  const { authentication, limits } = parseConfig(env, families);
  const service = await startTestService({ databaseUrl: database.url, authentication, limits, ...options });
  services.push(service);
  return service;
}

/** What comes back for bytes on a socket, until the service closes it. */
function raw(url: string, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}

const body = JSON.stringify(receiptCallback());
const signed = (key: string, text = body) => ({ 'X-Webhook-Signature': sign(key, text) });

it.each([
  ['missing', {}],
  ['wrong', signed('guess')],
  ['stale', { 'X-Webhook-Signature': sign('key', body, 1_700_000_000) }],
])('answers 401 when the signature is %s, and keeps nothing', async (_, headers) => {
  const { url } = await start({ SIGNING_KEYS: 'key' });
  const answer = await post(url + paths.receipt, body, headers as Record<string, string>);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([401, 'application/problem+json']);
  expect((await post(url + paths.receipt, '{', headers as Record<string, string>)).status).toBe(401);
  expect(await database.rows('select 1 from quarantine union all select 1 from deliveries')).toEqual([]);
});

it('a sender that changes its key in the middle of a rotation sees no refusal', async () => {
  const keys = ['old', 'old,new', 'new'];
  const senders = [['old'], ['old', 'new'], ['new']];
  for (const [step, SIGNING_KEYS] of keys.entries()) {
    const { url } = await start({ SIGNING_KEYS });
    for (const key of senders[step]!) {
      expect((await post(url + paths.receipt, body, signed(key))).status).toBe(200);
    }
  }
});

it('the header and the tolerance are those that are configured', async () => {
  const { url } = await start({
    SIGNING_KEYS: 'key',
    SIGNATURE_HEADER: 'X-Other',
    SIGNATURE_TOLERANCE_S: '10',
  });
  const at = (seconds: number) => ({ 'X-Other': sign('key', body, Math.floor(Date.now() / 1000) - seconds) });
  expect((await post(url + paths.receipt, body, at(0))).status).toBe(200);
  expect((await post(url + paths.receipt, body, at(20))).status).toBe(401);
});

it('answers 403 to an address that is not on the list, before it reads the body', async () => {
  const { url } = await start({ ALLOWED_IPS: '192.0.2.0/24', TRUST_PROXY: '1' });
  const from = (address: string) => post(url + paths.receipt, body, { 'X-Forwarded-For': address });
  expect((await from('198.51.100.1')).status).toBe(403);
  expect((await from('192.0.2.9, 198.51.100.1')).status).toBe(403);
  expect((await from('198.51.100.1, 192.0.2.9')).status).toBe(200);
  const head = 'POST /registered_url_for_receipt_events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n';
  expect(await raw(url, `${head}Content-Type: application/json\r\nContent-Length: 99\r\n\r\n`)).toContain(
    ' 403 ',
  );
});

it('answers 403 to a client or business that is not on the list, and keeps nothing of it', async () => {
  const { client_id, business_id } = receiptCallback();
  const { url } = await start({
    ALLOWED_CLIENT_IDS: `other,${client_id}`,
    ALLOWED_BUSINESS_IDS: business_id,
  });
  expect((await post(url + paths.receipt, body)).status).toBe(200);
  await database.pool.query('truncate deliveries, quarantine');
  for (const party of [{ client_id: 'x' }, { business_id: 'x' }]) {
    expect((await post(url + paths.receipt, { ...receiptCallback(), ...party })).status).toBe(403);
  }
  expect(await database.rows('select 1 from quarantine union all select 1 from deliveries')).toEqual([]);
});

it('answers 413 as soon as a body is too large, with a length and without', async () => {
  const { url } = await start({}, { bodyLimitBytes: 2_000 });
  expect((await post(url + paths.receipt, 'x'.repeat(2_001))).status).toBe(413);
  const head = `POST ${paths.receipt} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
  const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`;
  expect(await raw(url, `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}`)).toContain(' 413 ');
});

it('answers 415 to a body that is compressed or of another type', async () => {
  const { url } = await start();
  const gzip = await post(url + paths.receipt, gzipSync(body), { 'Content-Encoding': 'gzip' });
  const form = await post(url + paths.receipt, body, { 'Content-Type': 'application/x-www-form-urlencoded' });
  const latin = await post(url + paths.receipt, body, { 'Content-Type': 'application/json; charset=latin1' });
  expect([gzip.status, form.status, latin.status]).toEqual([415, 415, 415]);
});

it('cuts off a sender that trickles its bytes', async () => {
  const { url } = await start({}, { limits: { ...parseConfig({}, families).limits, requestMs: 200 } });
  const head = `POST ${paths.receipt} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
  expect(await raw(url, `${head}Content-Length: 99\r\n\r\n{`)).toContain(' 408 ');
  expect(await raw(url, head)).toContain(' 408 ');
});

it('answers 400 to what is not HTTP, and goes on', async () => {
  const { url } = await start();
  expect(await raw(url, 'nonsense\r\n\r\n')).toContain('400 Bad Request');
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

it('answers 429 with Retry-After to a source that is turned away again and again, and to no other', async () => {
  const { url } = await start({ SIGNING_KEYS: 'key', REFUSAL_LIMIT: '3', TRUST_PROXY: '1' });
  const from = (address: string, key: string) =>
    post(url + paths.receipt, body, { 'X-Forwarded-For': address, ...signed(key) });
  await until(async () => (await from('192.0.2.1', 'guess')).status === 429);
  const answer = await from('192.0.2.1', 'key');
  expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([429, true]);
  expect((await from('192.0.2.2', 'key')).status).toBe(200);
});

it('receivers share the count of a source through Redis', async () => {
  const redis = await openRedis();
  const env = { SIGNING_KEYS: 'key' };
  const receivers = [await start(env, { redisUrl: redis.url }), await start(env, { redisUrl: redis.url })];
  const client = redis.client();
  const count = async () => Number(await client.get('{receiver}:refusals:127.0.0.1'));
  for (const { url } of receivers) {
    const before = await count();
    // The first may come before the receiver has found Redis, and is then counted by itself alone.
    await until(async () => {
      expect((await post(url + paths.receipt, body, signed('guess'))).status).toBe(401);
      return (await count()) > before;
    });
  }
  await Promise.all(services.splice(0).map((service) => service.stop()));
  await redis.stop();
});

it('says at /readyz what is asked of a sender', async () => {
  const { url } = await start({ SIGNING_KEYS: 'key', ALLOWED_IPS: '127.0.0.1' });
  const { parts } = (await (await fetch(`${url}/readyz`)).json()) as { parts: { door: { detail: string } } };
  expect(parts.door.detail).toBe('signature, address list');
});

it('a callback of another family is refused where it does not belong', async () => {
  const { url } = await start();
  const answer = await post(url + paths.receipt, consentFormCallback());
  expect(await answer.json()).toMatchObject({ status: 422, errors: [{ path: '/event' }] });
});

it('production refuses to start where nothing tells the sender, and says what to set', () => {
  const production = { NODE_ENV: 'production', DATABASE_URL: 'postgres://localhost/x' };
  const parse = (env: Record<string, string>) => () => parseConfig({ ...production, ...env }, families);
  expect(parse({})).toThrow(expect.objectContaining({ problems: [expect.stringContaining('SIGNING_KEYS')] }));
  const unguessable = (name: string) => `/callbacks/${name}-4fZk82mQx0aLw93b`;
  const ways: Record<string, string>[] = [
    { SIGNING_KEYS: 'key' },
    { ALLOWED_IPS: '192.0.2.1' },
    { ALLOWED_CLIENT_IDS: 'x' },
    { ALLOWED_BUSINESS_IDS: 'x' },
    { ALLOW_UNAUTHENTICATED: 'true' },
    { ROLE: 'worker' },
    {
      RECEIPTS_PATH: unguessable('r'),
      CONSENT_FORMS_PATH: unguessable('c'),
      REVIEW_REQUESTS_PATH: unguessable('g'),
    },
  ];
  for (const way of ways) expect(parse(way)).not.toThrow();
  expect(parse({ RECEIPTS_PATH: unguessable('r') })).toThrow();
});
