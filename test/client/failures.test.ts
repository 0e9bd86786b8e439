import { inspect } from 'node:util';
import { RefusedInput, type ServiceClientOptions, type ServiceError } from '../../src/client/index.ts';
import { retryAfterMs } from '../../src/common/timeouts.ts';
import { sandboxToken, startSandbox } from '../../src/sandbox/platform-server.ts';
import { listen } from '../support/listen.ts';
import { until } from '../support/until.ts';
import { callsOf, failureOf, newTransaction, usePlatform, useResponses } from './platform.ts';

const platform = usePlatform();
const { respondingWith } = useResponses();

const names = Object.keys(callsOf(undefined as never)) as (keyof ReturnType<typeof callsOf>)[];
const once = ['verifyAadhaarOtp', 'createAddressByMobile', 'createAddressByAadhaar', 'createSubscription'];
const twice = { retry: { firstPauseMs: 10, maxAttempts: 2 } };
/** 900 ms in all: less than the second for which the platform asks to wait. */
const quick = { timeoutMs: 300, ...twice };
/** Long enough to reach a platform on a busy machine. */
const slow = { timeoutMs: 2_000, ...twice };

/** One of each method and group, on which retries depend; the other operations are called by the same code. */
const classes = [
  'verifyAadhaarOtp',
  'searchDrugsAndLabs',
  'createSubscription',
  'deleteSubscription',
  'listAppointments',
] as const satisfies typeof names;
const faults: [fault: string, type: string, detail: object][] = [
  ['400', 'Rejected', { status: 400 }],
  ['401', 'Unauthorized', { status: 401 }],
  ['404', 'Rejected', { status: 404 }],
  ['422', 'Rejected', { status: 422 }],
  ['500', 'Unavailable', { status: 500, reason: 'status', mayHaveReached: true }],
  ['503', 'Unavailable', { status: 503, reason: 'status' }],
  ['reset', 'Unavailable', { reason: 'network', mayHaveReached: true }],
  ['hang', 'Unavailable', { reason: 'time-out', mayHaveReached: true }],
];
const ofAll = faults.find(([fault]) => fault === '503')!;

it.each([
  ...classes.flatMap((name) => faults.map((fault) => [name, ...fault] as const)),
  ...names.filter((name) => !classes.includes(name as never)).map((name) => [name, ...ofAll] as const),
])(
  '%s fails after %s with the typed error %s, and is sent again only if that is harmless',
  async (name, fault, type, detail) => {
    const client = platform.client(fault, fault === 'hang' ? slow : twice);
    const error = await failureOf(callsOf(client)[name]());
    expect(error).toMatchObject({ name: type, operation: name, ...detail });
    const isRetried = type === 'Unavailable' && !once.includes(name);
    expect(platform.requests()).toHaveLength(isRetried ? 2 : 1);
  },
);

describe.each(classes)('%s', (name) => {
  it('says where the platform was not reached: an OTP is still valid', async () => {
    const stopped = await startSandbox();
    await stopped.close();
    const client = platform.client('none', { ...twice, baseUrl: stopped.url });
    const error = await failureOf(callsOf(client)[name]());
    expect(error).toMatchObject({ name: 'Unavailable', operation: name, mayHaveReached: false });
    expect(error).toMatchObject({ reason: 'network', message: expect.stringContaining('ECONNREFUSED') });
  });

  it('waits for Retry-After, if it may be sent again', async () => {
    const before = performance.now();
    const calls = callsOf(platform.client('once-429'));
    const outcome = await calls[name]().catch((error: unknown) => error);
    const isSentAgain = !once.includes(name);
    if (!isSentAgain) expect(outcome).toMatchObject({ name: 'Rejected', status: 429, retryAfterMs: 1_000 });
    expect(platform.requests()).toHaveLength(isSentAgain ? 2 : 1);
    // Less than the second itself: a timer may be early.
    if (isSentAgain) expect(performance.now() - before).toBeGreaterThan(900);
  });
});

it('gives up at once if Retry-After is longer than the time left, except a read', async () => {
  for (const name of ['searchDrugsAndLabs', 'listSubscriptions'] as const) {
    const before = platform.requests().length;
    await failureOf(callsOf(platform.client('429', quick))[name]());
    expect(platform.requests().length - before).toBe(1);
  }
});

it('a read waits for as long as the rate of calls is limited', async () => {
  const controller = new AbortController();
  const failing = failureOf(platform.client('429', quick).directory({ signal: controller.signal }));
  await until(() => platform.requests().length >= 2);
  const reason = new Error('stopped');
  controller.abort(reason);
  expect(await failing).toBe(reason);
});

it('a registration is sent again if the connection failed', async () => {
  const stopped = await startSandbox();
  await stopped.close();
  const port = Number(new URL(stopped.url).port);
  let calls = 0;
  let restarted: typeof stopped | undefined;
  const token = async () => {
    // The platform becomes available between the first and the second attempt.
    if (calls++ > 0) restarted ??= await startSandbox({ port });
    return sandboxToken;
  };
  const client = platform.client('none', { baseUrl: stopped.url, token, serviceIdentifierField: 'svc' });
  expect(await callsOf(client).verifyAadhaarOtp()).toMatchObject({ skip_state: 'abha_end' });
  expect(restarted?.requests).toHaveLength(1);
  await restarted?.close();
});

it('a deletion succeeds if a former attempt without a response has deleted it', async () => {
  const { id } = await platform.client().createSubscription({ endpoint: 'https://receiver.example' });
  await platform.client('once-lost').deleteSubscription({ id: id! });
  expect(platform.requests().map(({ method }) => method)).toEqual(['POST', 'DELETE', 'DELETE']);
  expect((await platform.client().listSubscriptions()).data).toEqual([]);
});

it.each([
  ['broken JSON', 200, '{"drugs": ['],
  ['other fields', 200, '{"drugs": {}}'],
  ['a redirect', 302, ''],
])('cannot read %s, and follows nothing', async (_, status, body) => {
  const client = respondingWith(status, body, { Location: '/elsewhere' });
  const error = await failureOf(client.searchDrugsAndLabs({ q: 'a' }));
  expect(error).toMatchObject({ name: 'UnreadableResponse', status });
});

it.each([
  ['{"error":{"code":"E1"}}', 'E1'],
  ['\ufeff{"code":"rate_limit_exceeded"}', 'rate_limit_exceeded'],
  ['{"error":{"code":1001}}', '1001'],
  ['{"error":{"code":"9876501234"}}', undefined],
  ['{"error":{"code":"no word"}}', undefined],
  ['{"error":{"code":"secret-query"}}', undefined],
  ['{"error":{}}', undefined],
])('has the code of the error %s, unless it may be a value of the request', async (body, code) => {
  const client = respondingWith(400, body);
  expect(await failureOf(client.searchDrugsAndLabs({ q: 'secret-query' }))).toMatchObject({ code });
});

it('a response that stops in the middle of its body ends with the time-out', async () => {
  const baseUrl = await listen((_, response) => response.writeHead(200, { 'Content-Length': 50 }).write('{'));
  const client = platform.client('none', { ...slow, baseUrl });
  const error = await failureOf(callsOf(client).verifyAadhaarOtp());
  expect(error).toMatchObject({ name: 'Unavailable', reason: 'time-out', mayHaveReached: true });
});

it('names the field that is missing at abha_end, and still returns what was received: its OTP is used', async () => {
  const client = platform.client('none', { serviceIdentifierField: 'other' });
  const error = (await failureOf(callsOf(client).verifyAadhaarOtp())) as ServiceError & {
    received(): unknown;
  };
  expect(error.message).toContain('svc: Invalid input: expected object, received undefined');
  expect(error.message).toContain('(serviceIdentifierField is "other")');
  expect(error.received()).toMatchObject({ maker: { min_token: 'sandbox-min-token' } });
  expect(inspect(error, { depth: null })).not.toContain('sandbox-min-token');
});

it('an aborted signal ends a call with its reason', async () => {
  const reason = new Error('stopped');
  const controller = new AbortController();
  const { signal } = controller;
  const failing = failureOf(platform.client('hang').searchDrugsAndLabs({ q: 'a' }, { signal }));
  await until(() => platform.requests().length > 0);
  controller.abort(reason);
  expect(await failing).toBe(reason);
});

it('no error has the token, a value of the request, a long number or a signing key', async () => {
  const secrets = { otp: '481516', mobile: '9876501234', signing_key: 'a-key-of-ours', q: 'जांच रक्त \ud800' };
  const echo = JSON.stringify({
    token: sandboxToken,
    sent: secrets,
    url: String(new URLSearchParams({ q: secrets.q })),
    masked: 'XXXX 1234 5678 9012',
    who: 'asha.rao@sbx',
    said: 'A-KEY-OF-OURS',
    person: { gender: 'F', day_of_birth: 15, month_of_birth: 8 },
    data: [{ signing_key: 'a-key-of-others' }],
    escaped: '\\u0034\\u0038\\u0031\\u0035\\u0031\\u0036',
  });
  for (const status of [400, 401, 500]) {
    const client = respondingWith(status, echo.replaceAll('\\\\', '\\'));
    const { q, signing_key, ...verify } = { ...secrets, txn_id: newTransaction() };
    const errors = [
      await failureOf(client.verifyAadhaarOtp({ ...verify, q } as never)),
      await failureOf(client.verifyAadhaarOtp(verify)),
      await failureOf(client.createSubscription({ endpoint: 'https://a.b', signing_key })),
      await failureOf(client.searchDrugsAndLabs({ q })),
    ];
    expect(errors[0]).toBeInstanceOf(RefusedInput);
    const options = { depth: null, showHidden: true };
    const printed = errors.map((error) => inspect(error, options) + JSON.stringify(error));
    expect(printed[3]).toContain('[redacted]');
    expect(printed[1]).not.toMatch(/481516|9876501234|5678|sandbox|eyJ|asha\.rao|key-of-others|"F|\b15\b/);
    expect(printed[2]).not.toMatch(/key-of-ours|key-of-others/i);
    expect(printed[3]).not.toMatch(/जांच|%E0%A4/);
  }
});

describe('a token', () => {
  const search = (token: ServiceClientOptions['token']) =>
    platform.client('none', { token }).searchDrugsAndLabs({ q: 'a' });
  const sent = () => platform.requests().map(({ headers }) => headers.authorization);

  it('that was refused is asked for once more, and not sent again', async () => {
    const refusals: unknown[] = [];
    await search(({ refused }) => {
      refusals.push(refused);
      return refused ? sandboxToken : 'stale';
    });
    expect([refusals, sent()]).toEqual([
      [undefined, 'stale'],
      ['Bearer stale', `Bearer ${sandboxToken}`],
    ]);
    expect(await failureOf(search('stale'))).toMatchObject({ name: 'Unauthorized', status: 401 });
    expect(sent()).toHaveLength(3);
  });

  it('that was refused is replaced, but an OTP or a new subscription is not sent again', async () => {
    let current = 'stale';
    const token: ServiceClientOptions['token'] = ({ refused }) => {
      if (refused === current) current = sandboxToken;
      return current;
    };
    for (const name of once as (typeof names)[number][]) {
      current = 'stale';
      const calls = callsOf(platform.client('none', { token }));
      const before = platform.requests().length;
      expect(await failureOf(calls[name]())).toMatchObject({ name: 'Unauthorized', status: 401 });
      expect(platform.requests()).toHaveLength(before + 1);
      await calls[name]();
    }
  });

  it.each<[string, ServiceClientOptions['token'], string]>([
    ['is empty', '', 'returned no valid bearer token'],
    ['breaks its line', 'secret\r\nX-Evil: 1', 'returned no valid bearer token'],
    ['throws', () => Promise.reject(new RangeError('a secret')), 'failed (RangeError)'],
  ])('whose source %s is not sent, nor quoted', async (_, token, says) => {
    const error = await failureOf(search(token));
    expect(error).toMatchObject({ name: 'Unauthorized', status: undefined });
    expect((error as Error).message).toBe(`searchDrugsAndLabs: the token source ${says}`);
    expect(platform.requests()).toEqual([]);
  });
});

it('Retry-After is read as seconds or as a date, and ignored otherwise', () => {
  const now = Date.parse('2025-01-01T00:00:00Z');
  expect(retryAfterMs('3', now)).toBe(3000);
  expect(retryAfterMs('Wed, 01 Jan 2025 00:00:05 GMT', now)).toBe(5000);
  expect(retryAfterMs('Tue, 31 Dec 2024 23:59:59 GMT', now)).toBe(0);
  expect(retryAfterMs('soon', now)).toBeUndefined();
});
