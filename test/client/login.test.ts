import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { createServiceClient, loginTokenSource } from '../../src/client/index.ts';
import { sandboxCredentials } from '../../src/sandbox/logins.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { until } from '../support/until.ts';
import { failureOf, newTransaction } from './calls.ts';

const expiresIn = 1_000;
const loginPath = '/connect-auth/v1/account/login';
const refreshPath = '/connect-auth/v1/account/refresh-token';
let sandbox: Sandbox;
let passed: number;

beforeEach(async () => {
  sandbox = await startSandbox({ expiresIn, refreshExpiresIn: expiresIn * 3, slowMs: 50 });
  passed = 0;
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + passed * 1000);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await sandbox.close();
});

/** A client that logs in; `fault` names a fault of its logins, not of its calls. */
function clientWith(fault = 'none', credentials = sandboxCredentials) {
  const baseUrl = `${sandbox.url}/fault-${fault}`;
  return createServiceClient({
    baseUrl: sandbox.url,
    token: loginTokenSource({ baseUrl, ...credentials, timeoutMs: fault.endsWith('hang') ? 300 : 5_000 }),
    retry: { firstPauseMs: 10 },
    totalTimeoutMs: 10_000,
  });
}
const isLogin = ({ path }: { path: string }) => path.endsWith(loginPath);
const isRefresh = ({ path }: { path: string }) => path.endsWith(refreshPath);
const logins = () => sandbox.requests.filter(isLogin).length;
const refreshes = () => sandbox.requests.filter(isRefresh).length;
const calls = () => sandbox.requests.filter((request) => !isLogin(request) && !isRefresh(request));
const lastToken = () => calls().at(-1)?.headers.authorization;

it('logs in once for however many calls wait for it, and uses the token for all later ones', async () => {
  const client = clientWith();
  await Promise.all(Array.from({ length: 20 }, () => client.searchDrugsAndLabs({ q: 'a' })));
  await client.searchDrugsAndLabs({ q: 'a' });
  expect(sandbox.requests[0]).toMatchObject({
    method: 'POST',
    body: { client_id: 'sandbox-client', client_secret: 'sandbox-secret' },
    headers: { 'content-type': 'application/json' },
  });
  expect(sandbox.requests[0]!.headers).not.toHaveProperty('authorization');
  expect([logins(), calls().length]).toEqual([1, 21]);
  await client.close();
});

it('refreshes the token before it expires, and no call waits for that', async () => {
  const client = clientWith();
  await client.searchDrugsAndLabs({ q: 'a' });
  const first = lastToken();
  passed = expiresIn * 0.7;
  await client.searchDrugsAndLabs({ q: 'a' });
  expect([logins(), lastToken()]).toEqual([1, first]);

  passed = expiresIn * 0.9;
  await client.searchDrugsAndLabs({ q: 'a' });
  expect(lastToken()).toBe(first);
  await until(async () => {
    await client.searchDrugsAndLabs({ q: 'a' });
    return lastToken() !== first;
  });
  expect([logins(), refreshes()]).toEqual([1, 1]);
  const { headers, body } = sandbox.requests.find(isRefresh)!;
  expect(headers).toMatchObject({ authorization: first, 'client-id': sandboxCredentials.clientId });
  expect(body).toEqual({ refresh_token: expect.stringMatching(/^sandbox-refresh-/) });
  await client.close();
});

it('logs in once after calls that the platform rejected with 401', async () => {
  const client = clientWith();
  await client.searchDrugsAndLabs({ q: 'a' });
  sandbox.accept([]);
  const registration = { mobile: '9876543210', otp: '111111', txn_id: newTransaction() };
  await Promise.all([
    client.verifyAadhaarOtp(registration),
    ...Array.from({ length: 10 }, () => client.searchDrugsAndLabs({ q: 'a' })),
  ]);
  expect(logins()).toBe(2);
  await client.close();
});

it('no call is sent with an expired token, whatever time passes between calls', async () => {
  const pauses = fc.array(fc.integer({ min: 0, max: expiresIn * 1.5 }), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(pauses, async (pauses) => {
      const client = clientWith();
      const before = calls().length;
      for (const pause of pauses) {
        passed += pause;
        await client.searchDrugsAndLabs({ q: 'a' });
      }
      // The sandbox rejects an expired token, and the client then sends the call again.
      expect(calls().length - before).toBe(pauses.length);
      await client.close();
    }),
    { numRuns: 50 },
  );
});

it.each(['429', '500', '503', 'reset', 'hang'])(
  'retries a failed login (%s) even for a call that may be sent only once',
  async (fault) => {
    const client = clientWith(`once-${fault}`);
    const registration = { mobile: '9876543210', otp: '111111', txn_id: newTransaction() };
    expect((await client.verifyAadhaarOtp(registration)).skip_state).toBe('abha_end');
    expect([logins(), calls().length]).toEqual([2, 1]);
    await client.close();
  },
);

it.each([
  ['rejects the credentials', '401', 'Unauthorized', 'the platform responded with 401'],
  ['rejects the request', '400', 'Unauthorized', 'the platform responded with 400'],
  ['echoes the request', 'echo', 'Unauthorized', 'the platform responded with 400'],
  ['redirects', 'redirect', 'Unauthorized', 'the platform responded with 302, not followed'],
  ['returns garbage', 'garbage', 'Unauthorized', 'the body is not JSON'],
  ['returns 10 MB', 'huge', 'Unauthorized', 'incomplete body (UND_ERR_RES_EXCEEDED_MAX_SIZE)'],
  ['fails', '503', 'Unavailable', 'the platform responded with 503'],
  ['hangs', 'hang', 'Unavailable', 'timed out after 300 ms'],
])(
  'when the login %s, the call fails with a typed error, unsent, without the secret',
  async (_, fault, name, says) => {
    const client = clientWith(fault, { clientId: 'our-client-id', clientSecret: 'our-own-secret' });
    const error = (await failureOf(client.searchDrugsAndLabs({ q: 'a' }))) as Error;
    expect(error).toMatchObject({
      name,
      operation: 'searchDrugsAndLabs',
      message: `searchDrugsAndLabs: the token source failed (login: ${says})`,
      ...(name === 'Unavailable' ? { mayHaveReached: false } : { status: undefined }),
    });
    expect(calls()).toEqual([]);
    expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(/our-own-secret|our-client-id/);
    await client.close();
  },
);

it('a call that is aborted does not end the login of the others', async () => {
  const client = clientWith('slow');
  const controller = new AbortController();
  const aborted = failureOf(client.searchDrugsAndLabs({ q: 'a' }, { signal: controller.signal }));
  const other = client.searchDrugsAndLabs({ q: 'a' });
  await until(() => logins() === 1);
  controller.abort(new Error('enough'));
  expect(await aborted).toMatchObject({ message: 'enough' });
  await other;
  await client.close();
});

it.each(['ftp://127.0.0.1', 'http://u:secret@127.0.0.1'])('rejects the base address %s', (baseUrl) => {
  expect(() => loginTokenSource({ baseUrl, ...sandboxCredentials })).toThrow(
    'baseUrl must be an http(s) address without credentials, query or fragment',
  );
});

describe('a response of the login', () => {
  let body: unknown;
  let asked: number;
  const server = createServer((_, response) => {
    asked++;
    response.end(JSON.stringify(body));
  });
  beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => server.close());
  beforeEach(() => {
    asked = 0;
  });
  const { signal } = new AbortController();
  const newSource = () => {
    const { port } = server.address() as AddressInfo;
    return loginTokenSource({ baseUrl: `http://127.0.0.1:${port}`, ...sandboxCredentials });
  };

  it('with an absent or absurd lifetime gives a token that is used until a 401', async () => {
    const absurd = fc.oneof(
      fc.constantFrom(undefined, null, 0, -1, '', 'soon', 1e300, {}, 'Infinity'),
      fc.double({ max: 0 }),
      fc.string().filter((text) => !(Number(text) > 0)),
    );
    await fc.assert(
      fc.asyncProperty(absurd, async (expires_in) => {
        body = { access_token: 'token', expires_in };
        asked = 0;
        passed = 0;
        const source = newSource();
        await source({ signal });
        passed = 365 * 86_400;
        expect(await source({ signal })).toBe('token');
        expect(asked).toBe(1);
        body = { access_token: 'next' };
        expect(await source({ refused: 'token', signal })).toBe('next');
        // A call that was on its way with the former token.
        expect(await source({ refused: 'token', signal })).toBe('next');
        expect(asked).toBe(2);
      }),
      { numRuns: 50 },
    );
  });

  it('may have the lifetime as text', async () => {
    body = { access_token: 'token', expires_in: '60' };
    const source = newSource();
    await source({ signal });
    passed = 61;
    body = { access_token: 'next', expires_in: '60' };
    expect(await source({ signal })).toBe('next');
  });

  it.each([{}, { access_token: null }, { access_token: 'secret token' }, { token: 'secret' }, []])(
    'is rejected without a bearer token, and not quoted: %j',
    async (given) => {
      body = given;
      const error = await failureOf(Promise.resolve(newSource()({ signal })));
      expect(error).toMatchObject({ name: 'UnreadableResponse', operation: 'login' });
      expect(inspect(error)).not.toContain('secret');
    },
  );
});
