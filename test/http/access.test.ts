import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { consentFormCallback, paths, receiptCallback } from '../support/callbacks.ts';
import { post, type ServiceOptions, useService } from '../support/service.ts';
import { sign } from '../support/sign.ts';
import { until } from '../support/until.ts';

const { database, start: startService } = useService();

function start(env: Record<string, string> = {}, options: ServiceOptions = {}) {
  const { authentication, limits } = parseConfig(env, families);
  return startService({ authentication, limits, ...options });
}

const fewRejections = { limits: { ...parseConfig({}, families).limits, rejectionsPerMinute: 3 } };

/** The bytes that the receiver sends until it closes the connection. */
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
])('responds 401 if the signature is %s, and stores nothing', async (_, headers) => {
  const { url } = await start({ SIGNING_KEYS: 'key' });
  const response = await post(url + paths.receipt, body, headers as Record<string, string>);
  expect([response.status, response.headers.get('content-type')]).toEqual([401, 'application/problem+json']);
  expect((await post(url + paths.receipt, '{', headers as Record<string, string>)).status).toBe(401);
  expect(await database.rows('select 1 from quarantine union all select 1 from deliveries')).toEqual([]);
});

it('no callback is rejected during a key rotation', async () => {
  const keys = ['old', 'old,new', 'new'];
  const senders = [['old'], ['old', 'new'], ['new']];
  for (const [step, SIGNING_KEYS] of keys.entries()) {
    const { url } = await start({ SIGNING_KEYS });
    for (const key of senders[step]!) {
      expect((await post(url + paths.receipt, body, signed(key))).status).toBe(200);
    }
  }
});

it("the signature's header can be configured; a signature is stale after 180 s", async () => {
  const { url } = await start({ SIGNING_KEYS: 'key', SIGNATURE_HEADER: 'X-Other' });
  const at = (seconds: number) => ({ 'X-Other': sign('key', body, Math.floor(Date.now() / 1000) - seconds) });
  expect((await post(url + paths.receipt, body, at(170))).status).toBe(200);
  expect((await post(url + paths.receipt, body, at(190))).status).toBe(401);
});

it('responds 403 to an address that is not on the list, before reading the body', async () => {
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

it('responds 403 to a client or business that is not on the list, and stores nothing', async () => {
  const { client_id, business_id } = receiptCallback();
  const { url } = await start({
    ALLOWED_CLIENT_IDS: `other,${client_id}`,
    ALLOWED_BUSINESS_IDS: business_id,
  });
  expect((await post(url + paths.receipt, body)).status).toBe(200);
  await database.pool.query('truncate inbox, quarantine');
  for (const party of [{ client_id: 'x' }, { business_id: 'x' }]) {
    expect((await post(url + paths.receipt, { ...receiptCallback(), ...party })).status).toBe(403);
  }
  expect(await database.rows('select 1 from quarantine union all select 1 from deliveries')).toEqual([]);
});

it('responds 413 as soon as a body is too large, with and without Content-Length', async () => {
  const { url } = await start({}, { bodyLimitBytes: 2_000 });
  expect((await post(url + paths.receipt, 'x'.repeat(2_001))).status).toBe(413);
  const head = `POST ${paths.receipt} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
  const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`;
  expect(await raw(url, `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}`)).toContain(' 413 ');
});

it('responds 415 to a compressed body and to another type', async () => {
  const { url } = await start();
  const gzip = await post(url + paths.receipt, gzipSync(body), { 'Content-Encoding': 'gzip' });
  const form = await post(url + paths.receipt, body, { 'Content-Type': 'application/x-www-form-urlencoded' });
  const latin = await post(url + paths.receipt, body, { 'Content-Type': 'application/json; charset=latin1' });
  expect([gzip.status, form.status, latin.status]).toEqual([415, 415, 415]);
});

it('responds 408 to a request that is not complete in time', async () => {
  const { url } = await start({}, { limits: { ...parseConfig({}, families).limits, requestMs: 200 } });
  const head = `POST ${paths.receipt} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
  expect(await raw(url, `${head}Content-Length: 99\r\n\r\n{`)).toContain(' 408 ');
  expect(await raw(url, head)).toContain(' 408 ');
});

it('responds 431 to headers that are too large', async () => {
  const { url } = await start();
  const response = await raw(url, `GET /healthz HTTP/1.1\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`);
  expect(response).toContain(' 431 Request Header Fields Too Large');
  expect(response).toContain('"status":431');
});

it('responds 400 to bytes that are not HTTP, and keeps serving', async () => {
  const { url } = await start();
  expect(await raw(url, 'nonsense\r\n\r\n')).toContain('400 Bad Request');
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

it('responds 429 with Retry-After to an address that guesses signatures, to no other address, and never to a valid signature', async () => {
  const { url } = await start({ SIGNING_KEYS: 'key', TRUST_PROXY: '1' }, fewRejections);
  const from = (address: string, key: string) =>
    post(url + paths.receipt, body, { 'X-Forwarded-For': address, ...signed(key) });
  await until(async () => (await from('192.0.2.1', 'guess')).status === 429);
  const response = await from('192.0.2.1', 'guess');
  expect([response.status, Number(response.headers.get('retry-after')) > 0]).toEqual([429, true]);
  expect((await from('192.0.2.2', 'guess')).status).toBe(401);
  expect((await from('192.0.2.1', 'key')).status).toBe(200);
});

it.each<[string, Record<string, string>]>([
  ['signature', { SIGNING_KEYS: 'key' }],
  ['address', { ALLOWED_IPS: '127.0.0.1' }],
])(
  'a sender identified by its %s is not limited after callbacks of a business that is not on the list',
  async (_, env) => {
    const { business_id } = receiptCallback();
    const { url } = await start({ ...env, ALLOWED_BUSINESS_IDS: business_id }, fewRejections);
    const other = JSON.stringify({ ...receiptCallback(), business_id: 'other' });
    for (let time = 0; time < 10; time += 1) {
      expect((await post(url + paths.receipt, other, signed('key', other))).status).toBe(403);
    }
    expect((await post(url + paths.receipt, body, signed('key'))).status).toBe(200);
    const guess = { ...signed('guess') };
    expect((await post(url + paths.receipt, body, guess)).status).toBe(env.SIGNING_KEYS ? 401 : 200);
  },
);

it('a sender without signature or allowed address may send a few unlisted businesses, then gets 429', async () => {
  const { business_id } = receiptCallback();
  const { url } = await start({ ALLOWED_BUSINESS_IDS: business_id }, fewRejections);
  const other = { ...receiptCallback(), business_id: 'other' };
  await until(async () => (await post(url + paths.receipt, other)).status === 429);
  expect((await post(url + paths.receipt, body)).status).toBe(429);
});

it('rejects a signature that no body could match before reading the body', async () => {
  const { url } = await start({ SIGNING_KEYS: 'key' });
  const head = `POST ${paths.receipt} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n`;
  const stale = sign('key', body, 1_700_000_000);
  for (const header of ['', 'X-Webhook-Signature: v1=0\r\n', `X-Webhook-Signature: ${stale}\r\n`]) {
    expect(await raw(url, `${head}${header}Content-Length: 99\r\n\r\n`)).toContain(' 401 ');
  }
});

it('an untrusted X-Forwarded-For is logged once, and shown to administrators at /readyz', async () => {
  const lines: string[] = [];
  const log = createLog('warn', { write: (line) => lines.push(line) });
  const service = await startService({ role: 'receiver', adminToken, log });
  const warnings = () => lines.filter((line) => line.includes('TRUST_PROXY'));
  await post(service.url + paths.receipt, body);
  expect([warnings(), await accessOf(service.url)]).toEqual([[], expect.not.stringContaining('TRUST_PROXY')]);
  for (let time = 0; time < 3; time += 1) {
    await post(service.url + paths.receipt, body, { 'X-Forwarded-For': '192.0.2.1' });
  }
  expect(warnings()).toHaveLength(1);
  expect(warnings()[0]).not.toContain('192.0.2.1');
  await until(async () => (await accessOf(service.url))?.includes('TRUST_PROXY is 0'));
});

const adminToken = 'an-admin-token-of-tests';
const readyz = async (url: string, authorization?: string) => {
  const headers = authorization ? { Authorization: authorization } : {};
  return (await fetch(`${url}/readyz`, { headers })).json() as Promise<{
    status: string;
    parts: Record<string, { ok: boolean; detail?: string }>;
  }>;
};
const accessOf = async (url: string) => (await readyz(url, `Bearer ${adminToken}`)).parts.access!.detail;

it('/readyz shows administrators the configured access checks', async () => {
  const { url } = await start({ SIGNING_KEYS: 'key', ALLOWED_IPS: '127.0.0.1' }, { adminToken });
  expect(await accessOf(url)).toBe('signature, address list');
});

it("a callback of another path's family is rejected", async () => {
  const { url } = await start();
  const response = await post(url + paths.receipt, consentFormCallback());
  expect(await response.json()).toMatchObject({ status: 422, errors: [{ path: '/event' }] });
});

it('where only unguessable paths protect callbacks, the documented path of a family is not served', async () => {
  const path = '/callbacks/e-9d4c1f7be2a05836f1c97d2e';
  const production = { NODE_ENV: 'production', DATABASE_URL: 'postgres://localhost/x', EVENTS_PATH: path };
  const config = parseConfig(production, families);
  const { url } = await start({}, { paths: config.paths });
  const statusAt = async (at: string) => (await post(url + at, receiptCallback())).status;
  expect(await statusAt(path)).toBe(200);
  for (const documented of Object.values(paths)) expect(await statusAt(documented)).toBe(404);
});

it('production does not start without access checks, and the error says what to set', () => {
  const production = { NODE_ENV: 'production', DATABASE_URL: 'postgres://localhost/x' };
  const parse = (env: Record<string, string>) => () => parseConfig({ ...production, ...env }, families);
  expect(parse({})).toThrow(expect.objectContaining({ problems: [expect.stringContaining('SIGNING_KEYS')] }));
  const unguessable = (name: string) => `/callbacks/${name}-9d4c1f7be2a05836f1c97d2e`;
  const ways: Record<string, string>[] = [
    { SIGNING_KEYS: 'key' },
    { ALLOWED_IPS: '192.0.2.1' },
    { ALLOWED_CLIENT_IDS: 'x' },
    { ALLOWED_BUSINESS_IDS: 'x' },
    { ALLOW_UNAUTHENTICATED: 'true' },
    { ROLE: 'worker' },
    { EVENTS_PATH: unguessable('e') },
    {
      RECEIPTS_PATH: unguessable('r'),
      CONSENT_FORMS_PATH: unguessable('c'),
      REVIEW_REQUESTS_PATH: unguessable('g'),
    },
  ];
  for (const way of ways) expect(parse(way)).not.toThrow();
  expect(parse({ RECEIPTS_PATH: unguessable('r') })).toThrow();
  expect(parse({ EVENTS_PATH: '/events' })).toThrow();
  expect(parse({ EVENTS_PATH: unguessable('e'), RECEIPTS_PATH: '/receipts' })).toThrow();
  expect(parse({ EVENTS_PATH: `${unguessable('e')},/events` })).toThrow();
  const guessable = {
    RECEIPTS_PATH: '/hooks/receipt-events-v1',
    CONSENT_FORMS_PATH: '/hooks/consent-form-events-v1',
    REVIEW_REQUESTS_PATH: '/hooks/review-request-events-v1',
  };
  expect(parse(guessable)).toThrow(
    expect.objectContaining({ problems: [expect.stringContaining('openssl rand -hex 16')] }),
  );
});
