import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { loginTokenSource } from '../../src/client/index.ts';
import { until } from '../support/until.ts';
import { failureOf } from './calls.ts';

type Respond = (response: ServerResponse) => void;

const expiresIn = 1_000;
const { signal } = new AbortController();

/** The responses to logins and to refreshes, and the requests in the order of their arrival. */
let respond: Record<'login' | 'refresh-token', Respond>;
let asked: { name: string; body: unknown; headers: Record<string, unknown> }[];
let issued: number;
let passed: number;

const pair: Respond = (response) => {
  issued++;
  const tokens = { access_token: `token-${issued}`, refresh_token: `refresh-${issued}` };
  response.end(JSON.stringify({ ...tokens, expires_in: expiresIn, refresh_expires_in: expiresIn * 3 }));
};

const server = createServer(async (request, response) => {
  const name = request.url!.split('/').at(-1) as keyof typeof respond;
  const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
  asked.push({ name, body, headers: request.headers });
  respond[name](response);
});

beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
beforeEach(() => {
  respond = { login: pair, 'refresh-token': pair };
  asked = [];
  issued = 0;
  passed = 0;
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + passed * 1000);
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const newSource = (timeoutMs = 10_000, prefix = '') => {
  const { port } = server.address() as AddressInfo;
  const credentials = { clientId: 'our-client', clientSecret: 'our-secret' };
  return loginTokenSource({ baseUrl: `http://127.0.0.1:${port}${prefix}`, ...credentials, timeoutMs });
};
type Source = ReturnType<typeof newSource>;
const names = () => asked.map(({ name }) => name);

/** Waits until the source returns the token. */
const untilToken = (source: Source, token: string) => until(async () => (await source({ signal })) === token);

it('refreshes with the pair of tokens of the last response, again and again', async () => {
  const source = newSource();
  for (const count of [1, 2, 3]) {
    await untilToken(source, `token-${count}`);
    passed += expiresIn * 0.85;
    expect(await source({ signal })).toBe(`token-${count}`);
  }
  await untilToken(source, 'token-4');
  expect(names()).toEqual(['login', 'refresh-token', 'refresh-token', 'refresh-token']);
  for (const [index, { body, headers }] of asked.slice(1).entries()) {
    expect(body).toEqual({ refresh_token: `refresh-${index + 1}` });
    expect(headers).toMatchObject({
      authorization: `Bearer token-${index + 1}`,
      'client-id': 'our-client',
    });
  }
});

const failures: [string, Respond][] = [
  ['is rejected with 400', (response) => response.writeHead(400).end('{"message":"invalid"}')],
  ['is rejected with 401', (response) => response.writeHead(401).end()],
  ['fails with 500', (response) => response.writeHead(500).end()],
  ['returns no token', (response) => response.end('{}')],
  ['loses its connection', (response) => response.destroy()],
  ['hangs', () => {}],
];

it.each(failures)('logs in once for all calls if the refresh %s', async (name, failure) => {
  const source = newSource(name === 'hangs' ? 300 : undefined);
  await source({ signal });
  respond['refresh-token'] = failure;
  passed += expiresIn * 0.9;
  await Promise.all(Array.from({ length: 10 }, () => source({ signal })));
  await untilToken(source, 'token-2');
  expect(names()).toEqual(['login', 'refresh-token', 'login']);
});

it.each([
  ['the token has expired', expiresIn * 1.1, undefined],
  ['the refresh token has expired', expiresIn * 0.9, 0.5 * expiresIn],
])('logs in, without a refresh, if %s', async (_, pause, refresh_expires_in) => {
  respond.login = (response) => {
    issued++;
    const tokens = { access_token: `token-${issued}`, refresh_token: 'refresh' };
    response.end(JSON.stringify({ ...tokens, expires_in: expiresIn, refresh_expires_in }));
  };
  const source = newSource();
  await source({ signal });
  passed += pause;
  await untilToken(source, 'token-2');
  expect(names()).toEqual(['login', 'login']);
});

it('keeps using a valid token while renewals fail, and does not try one for each call', async () => {
  const source = newSource();
  await source({ signal });
  respond = { login: (response) => response.writeHead(503).end(), 'refresh-token': failures[2]![1] };
  passed = expiresIn * 0.9;
  await source({ signal });
  await until(() => asked.length === 3);
  for (let count = 0; count < 10; count++) expect(await source({ signal })).toBe('token-1');
  expect(names()).toEqual(['login', 'refresh-token', 'login']);

  respond.login = pair;
  passed = expiresIn * 0.96;
  await untilToken(source, 'token-2');
  expect(names()).toHaveLength(5);
});

it('never has two renewals at once, whatever fails and whenever a token is refused', async () => {
  const step = fc.record({
    pause: fc.integer({ min: 0, max: expiresIn * 1.5 }),
    calls: fc.integer({ min: 1, max: 5 }),
    isRefused: fc.boolean(),
    fails: fc.subarray(['login', 'refresh-token'] as const),
  });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      let current = 0;
      let most = 0;
      // The last renewal of the former run may still be on its way.
      const prefix = `/run-${++run}`;
      const counted =
        (reply: Respond): Respond =>
        (response) => {
          if (!response.req.url!.startsWith(`${prefix}/`)) return reply(response);
          most = Math.max(most, ++current);
          // Long enough for the requests of the other calls to arrive.
          setTimeout(() => {
            current--;
            reply(response);
          }, 5);
        };
      const fail = counted((response) => response.writeHead(503).end());
      const source = newSource(10_000, prefix);
      let last: string | undefined;
      for (const { pause, calls, isRefused, fails } of steps) {
        passed += pause;
        respond = { login: counted(pair), 'refresh-token': counted(pair) };
        for (const name of fails) respond[name] = fail;
        const request = isRefused && last ? { refused: last, signal } : { signal };
        const outcomes = await Promise.allSettled(Array.from({ length: calls }, async () => source(request)));
        for (const outcome of outcomes) {
          if (outcome.status === 'fulfilled') last = outcome.value;
          else expect(outcome.reason).toMatchObject({ name: 'Unavailable', operation: 'login' });
        }
      }
      expect(most).toBeLessThanOrEqual(1);
    }),
    { numRuns: 20 },
  );
});

it('does not name the tokens or the secret in an error', async () => {
  respond.login = (response) => {
    const { body, headers } = asked.at(-1)!;
    response.writeHead(400).end(JSON.stringify({ body, headers }));
  };
  const error = await failureOf(Promise.resolve(newSource()({ signal })));
  expect(error).toMatchObject({ name: 'Rejected', status: 400 });
  expect(JSON.stringify(error)).not.toMatch(/our-secret|our-client/);
});
