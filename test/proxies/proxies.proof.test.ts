import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { type ServiceOptions, startTestService } from '../support/service.ts';
import { type Receivers, startReceivers } from './receivers.ts';
import { rollingRestart } from './rolling-restart.ts';
import { openHttp1, openHttp2 } from './send.ts';
import { proxies, type RunningProxy, startProxy } from './start-proxy.ts';

let database: TestDatabase;
let folder: string;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  database = await createDatabase();
  folder = mkdtempSync(join(tmpdir(), 'receiver-proxies-'));
});
afterEach(async () => {
  while (closers.length > 0) await closers.pop()!();
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

/** A receiver on a socket file, which stands for both of an example. */
async function startReceiver(env: Record<string, string> = {}, more: ServiceOptions = {}): Promise<string> {
  const socket = join(folder, `${closers.length}.sock`);
  const { authentication, limits } = parseConfig({ SOCKET: socket, TRUST_PROXY: '1', ...env }, families);
  const options = {
    databaseUrl: database.url,
    role: 'receiver',
    authentication,
    limits,
    socket,
    ...more,
  } as const;
  closers.push((await startTestService(options)).stop);
  return socket;
}

async function start(...args: Parameters<typeof startProxy>): Promise<RunningProxy> {
  const proxy = await startProxy(...args);
  closers.push(proxy.stop);
  return proxy;
}

/** A sender over a new connection of HTTP/1.1 for each request, and one over HTTP/2. */
function sendersTo(url: string) {
  const senders = [openHttp1(url, 'new'), openHttp2(url)];
  closers.push(...senders.map(({ close }) => close));
  return senders.map(({ send }) => send);
}

describe.each(proxies)('the example of %s', (name) => {
  it('passes callbacks over TLS on, with HTTP/1.1 and HTTP/2', async () => {
    const socket = await startReceiver();
    const { url } = await start(name, [socket, socket]);
    const body = JSON.stringify(receiptCallback());
    for (const send of sendersTo(url)) expect((await send({ path: paths.receipt, body })).status).toBe(200);
  });

  it('tells the address of the sender; one that the sender claims does not count', async () => {
    const body = JSON.stringify(receiptCallback());
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    for (const [ALLOWED_IPS, expected] of [
      ['127.0.0.1', 200],
      ['203.0.113.9', 403],
    ] as const) {
      const socket = await startReceiver({ ALLOWED_IPS });
      const { url } = await start(name, [socket, socket]);
      for (const send of sendersTo(url)) {
        expect((await send({ path: paths.receipt, headers, body })).status).toBe(expected);
      }
    }
  });

  it('passes no host on that the sender claims, so that the forms of another site are refused', async () => {
    const adminToken = 'an-admin-token-of-tests';
    const socket = await startReceiver({}, { adminToken });
    const { url } = await start(name, [socket, socket]);
    const elsewhere = 'https://elsewhere.invalid';
    for (const send of sendersTo(url)) {
      for (const [origin, expected] of [
        [elsewhere, 403],
        [new URL(url).origin, 401],
      ] as const) {
        const headers = {
          origin,
          'x-forwarded-host': 'elsewhere.invalid',
          'x-forwarded-proto': 'https',
          'content-type': 'application/x-www-form-urlencoded',
        };
        const response = await send({ path: '/console/sign-in', headers, body: 'token=wrong' });
        expect([origin, response.status]).toEqual([origin, expected]);
      }
    }
  });

  it('responds with 413 to a body above BODY_LIMIT, with and without its length, and passes one of BODY_LIMIT on', async () => {
    const socket = await startReceiver();
    const { url } = await start(name, [socket, socket]);
    const status = async (bytes: number, protocol: 1 | 2, hasLength: boolean): Promise<number> => {
      const body = 'x'.repeat(bytes);
      const headers: Record<string, string> = hasLength ? { 'content-length': String(bytes) } : {};
      const send = sendersTo(url)[protocol - 1]!;
      try {
        return (await send({ path: paths.receipt, body, headers, chunked: !hasLength })).status;
      } catch (error) {
        // The rest of the body was not accepted before the response was read.
        if ((error as NodeJS.ErrnoException).code !== 'ECANCELED') throw error;
        return status(bytes, protocol, hasLength);
      }
    };
    const limit = 256 * 1024;
    for (const protocol of [1, 2] as const) {
      for (const hasLength of [true, false]) {
        // The receiver's own answer: it is not JSON.
        expect([protocol, hasLength, await status(limit, protocol, hasLength)]).toEqual([
          protocol,
          hasLength,
          400,
        ]);
        for (const bytes of [limit + 1, 4 * limit]) {
          expect([protocol, hasLength, await status(bytes, protocol, hasLength)]).toEqual([
            protocol,
            hasLength,
            413,
          ]);
        }
      }
    }
  });

  it('opens the registered paths to everybody, and everything else to internal networks only', async () => {
    const socket = await startReceiver();
    const inside = await start(name, [socket, socket]);
    const outside = await start(name, [socket, socket], '192.0.2.0/24');
    const internal = ['/readyz', '/healthz', '/console', '/metrics', '/openapi.json', '/'];
    const status = async ({ url }: RunningProxy, path: string) =>
      (await sendersTo(url)[0]!({ method: 'GET', path })).status;
    expect(await status(inside, '/readyz')).toBe(200);
    for (const path of internal) expect([path, await status(outside, path)]).toEqual([path, 403]);
    for (const path of ['/events', paths.receipt]) expect(await status(outside, path)).toBe(405);
    for (const path of [
      '/callbacks/../readyz',
      '/callbacks/%2e%2e/readyz',
      '/callbacks//readyz',
      '/%72eadyz',
    ]) {
      expect([path, [400, 403, 404]]).toEqual([path, expect.arrayContaining([await status(outside, path)])]);
    }
  });
});

describe('in a rolling restart under load, no request fails and nothing acknowledged is lost', () => {
  let receivers: Receivers;
  beforeAll(async () => {
    receivers = await startReceivers({ DATABASE_URL: database.url });
  });
  afterAll(() => receivers.stop());

  it.each([
    ['nginx', ['SIGTERM', 'SIGKILL']],
    ['haproxy', ['SIGTERM', 'SIGKILL']],
    // Caddy repeats no POST, so a killed receiver fails some.
    ['caddy', ['SIGTERM']],
  ] as const)('behind %s, by %p', async (name, signals) => {
    const { url } = await start(name, receivers.addresses);
    const result = await rollingRestart({
      url,
      receivers,
      databaseUrl: database.url,
      business: name,
      signals: [...signals],
      rate: 40,
    });
    const { requests } = result;
    expect(result.failures).toEqual({});
    expect(result).toMatchObject({ lost: 0, acknowledged: requests, rows: requests });
    expect(result.restarts).toHaveLength(signals.length);
  });
});
