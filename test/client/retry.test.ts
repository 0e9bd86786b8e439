import fc from 'fast-check';
import { createServiceClient, type ServiceClient } from '../../src/client/index.ts';
import { retryAfterMs } from '../../src/client/retry.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { failureOf, faultyCalls } from './calls.ts';

let sandbox: Sandbox;
let client: ServiceClient;
let impatient: ServiceClient;
let pauses: number[];

beforeAll(async () => {
  sandbox = await startSandbox();
  const options = {
    baseUrl: sandbox.url,
    token: sandboxToken,
    retry: { firstPauseMs: 10 },
    onRetry: (_: unknown, pauseMs: number) => void pauses.push(pauseMs),
  };
  client = createServiceClient(options);
  impatient = createServiceClient({ ...options, timeoutMs: 500 });
});
beforeEach(() => {
  pauses = [];
});
afterAll(async () => {
  await client.close();
  await impatient.close();
  await sandbox.close();
});

async function sentDuring(call: () => Promise<unknown>): Promise<number> {
  const before = sandbox.requests.length;
  await call().catch(() => {});
  return sandbox.requests.length - before;
}

it.each(['500', '502', '503', '504', 'reset'])('retries a search after %s, and succeeds', async (fault) => {
  const found = await client.searchDrugsAndLabs({ q: `fault-once-${fault}` });
  expect(found.drugs).toEqual([]);
  expect(pauses).toHaveLength(1);
});

it('retries a search after a timeout', async () => {
  await impatient.searchDrugsAndLabs({ q: 'fault-once-hang' });
  expect(pauses).toHaveLength(1);
});

it('waits for Retry-After before it retries a search', async () => {
  await client.searchDrugsAndLabs({ q: 'fault-once-429' });
  expect(pauses).toEqual([expect.any(Number)]);
  expect(pauses[0]).toBeGreaterThanOrEqual(1000);
});

it('gives up a search after three attempts', async () => {
  expect(await sentDuring(() => client.searchDrugsAndLabs({ q: 'fault-500' }))).toBe(3);
});

it('fails at once if Retry-After is longer than the time left', async () => {
  const brief = createServiceClient({ baseUrl: sandbox.url, token: sandboxToken, totalTimeoutMs: 900 });
  const before = sandbox.requests.length;
  const error = await failureOf(brief.searchDrugsAndLabs({ q: 'fault-429' }));
  expect(error).toMatchObject({ name: 'Rejected', status: 429, retryAfterMs: 1000 });
  expect(sandbox.requests.length - before).toBe(1);
  await brief.close();
});

it.each(['400', '404', '422', 'garbage', 'redirect', 'huge'])(
  'does not retry a search after %s',
  async (fault) => {
    expect(await sentDuring(() => client.searchDrugsAndLabs({ q: `fault-${fault}` }))).toBe(1);
  },
);

const registrations = ['verifyAadhaarOtp', 'createAddressByMobile', 'createAddressByAadhaar'] as const;
const faults = { '429': '429', '500': '500', '503': '503', reset: '006', hang: '002', garbage: '003' };

describe.each(registrations)('%s', (operation) => {
  it.each(Object.entries(faults))('is never sent twice: %s', async (fault, ending) => {
    const calls = faultyCalls(fault === 'hang' ? impatient : client, fault, `9000000${ending}`);
    expect(await sentDuring(calls[operation])).toBe(1);
    expect(pauses).toEqual([]);
  });
});

it('retries a registration if the connection failed: its OTP is still valid', async () => {
  const stopped = await startSandbox();
  await stopped.close();
  const port = Number(new URL(stopped.url).port);
  let restarted: Sandbox | undefined;
  const persistent = createServiceClient({
    baseUrl: stopped.url,
    token: async () => {
      // The platform becomes available between the first and the second attempt.
      if (pauses.length > 0) restarted ??= await startSandbox({ port });
      return sandboxToken;
    },
    retry: { firstPauseMs: 10 },
    onRetry: (_, pauseMs) => pauses.push(pauseMs),
  });
  const call = persistent.verifyAadhaarOtp({ mobile: '9876543210', otp: '111111', txn_id: 'start-back' });
  expect((await call).skip_state).toBe('abha_end');
  expect(restarted?.requests).toHaveLength(1);
  await persistent.close();
  await restarted?.close();
});

it('reports each failure to onRetry, and in the end the last one', async () => {
  const error = await failureOf(client.searchDrugsAndLabs({ q: 'fault-503' }));
  expect(error).toMatchObject({ name: 'Unavailable', status: 503 });
  expect(pauses).toHaveLength(2);
});

describe('Retry-After', () => {
  it('is read as seconds or as a date, and ignored otherwise', () => {
    const now = Date.parse('2025-01-01T00:00:00Z');
    expect(retryAfterMs('3', now)).toBe(3000);
    expect(retryAfterMs('Wed, 01 Jan 2025 00:00:05 GMT', now)).toBe(5000);
    expect(retryAfterMs('Tue, 31 Dec 2024 23:59:59 GMT', now)).toBe(0);
    expect(retryAfterMs('soon', now)).toBeUndefined();
  });

  it('never gives a negative pause', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        const pause = retryAfterMs(header);
        expect(pause === undefined || pause >= 0).toBe(true);
      }),
    );
  });
});
