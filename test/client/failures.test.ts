import { once } from 'node:events';
import { createServer } from 'node:net';
import { createServiceClient, type ServiceClient, type ServiceError } from '../../src/client/index.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { failureOf, faultyCalls } from './calls.ts';

const operations = [
  'verifyAadhaarOtp',
  'createAddressByMobile',
  'createAddressByAadhaar',
  'searchDrugsAndLabs',
] as const;

let sandbox: Sandbox;
let client: ServiceClient;
let impatient: ServiceClient;
const quick = { timeoutMs: 300, totalTimeoutMs: 700, retry: { firstPauseMs: 10 } };

beforeAll(async () => {
  sandbox = await startSandbox({ serviceIdentifierField: 'maker' });
  const options = { baseUrl: sandbox.url, token: sandboxToken };
  client = createServiceClient({ ...options, retry: { maxAttempts: 1 } });
  impatient = createServiceClient({ ...options, ...quick });
});
afterAll(async () => {
  await client.close();
  await impatient.close();
  await sandbox.close();
});

describe.each(operations)('%s', (operation) => {
  it.each([
    ['responds with broken JSON', 'garbage', '9000000003', 'UnreadableResponse', { status: 200 }],
    ['responds with HTML', 'html', '9000000009', 'UnreadableResponse', { status: 200 }],
    ['redirects', 'redirect', '9000000004', 'UnreadableResponse', { status: 302 }],
    ['responds with 10 MB', 'huge', '9000000005', 'UnreadableResponse', { status: 200, body: undefined }],
    ['hangs', 'hang', '9000000002', 'Unavailable', { reason: 'time-out', mayHaveReached: true }],
    ['stops in the middle of its response', 'stall', '9000000007', 'Unavailable', { reason: 'time-out' }],
    [
      'drops the connection',
      'reset',
      '9000000006',
      'Unavailable',
      { reason: 'network', mayHaveReached: true },
    ],
    ['responds with 400', '400', '9000000400', 'Rejected', { status: 400 }],
    ['responds with 401', '401', '9000000401', 'Unauthorized', { status: 401 }],
    ['responds with 404', '404', '9000000404', 'Rejected', { status: 404 }],
    ['responds with 422', '422', '9000000422', 'Rejected', { status: 422 }],
    ['responds with 429', '429', '9000000429', 'Rejected', { status: 429, retryAfterMs: 1000 }],
    ['responds with 500', '500', '9000000500', 'Unavailable', { status: 500, reason: 'status' }],
    ['responds with 503', '503', '9000000503', 'Unavailable', { status: 503, reason: 'status' }],
  ])(
    'when the platform %s, the call fails with the right typed error',
    async (_, fault, mobile, name, detail) => {
      // The timeout is short only where no response is sent: a busy machine may respond slowly.
      const caller = ['hang', 'stall'].includes(fault) ? impatient : client;
      const error = (await failureOf(faultyCalls(caller, fault, mobile)[operation]())) as ServiceError;
      expect(error).toMatchObject({ name, operation, ...detail });
      const registers = operation !== 'searchDrugsAndLabs';
      expect(error.transactionId).toEqual(registers ? expect.stringMatching(/^start-/) : undefined);
    },
  );

  it('when the platform is unreachable, says that the request did not reach it', async () => {
    const stopped = await startSandbox();
    await stopped.close();
    const unreachable = createServiceClient({ baseUrl: stopped.url, token: sandboxToken, ...quick });
    expect(await failureOf(faultyCalls(unreachable, 'hang', '9000000002')[operation]())).toMatchObject({
      name: 'Unavailable',
      operation,
      reason: 'network',
      mayHaveReached: false,
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await unreachable.close();
  });
});

it('sends no token to the target of a redirect', async () => {
  const before = sandbox.requests.length;
  await failureOf(client.searchDrugsAndLabs({ q: 'fault-redirect' }));
  expect(sandbox.requests.slice(before).map((r) => r.path)).toEqual(['/medical-db/v1/drugs-and-labs']);
});

it('stops reading a response that is too large', async () => {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  let written = 0;
  const endless = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"');
      const write = () => {
        while (!socket.destroyed) {
          written += chunk.length;
          if (!socket.write(chunk)) return void socket.once('drain', write);
        }
      };
      write();
    });
  }).listen(0, '127.0.0.1');
  await once(endless, 'listening');
  const { port } = endless.address() as { port: number };
  const bounded = createServiceClient({
    baseUrl: `http://127.0.0.1:${port}`,
    token: sandboxToken,
    maxResponseBytes: 100_000,
  });

  expect(await failureOf(bounded.searchDrugsAndLabs({ q: 'a' }))).toMatchObject({
    name: 'UnreadableResponse',
    message: expect.stringContaining('UND_ERR_RES_EXCEEDED_MAX_SIZE'),
  });
  // The sockets' own buffers are additional to the limit.
  expect(written).toBeLessThan(20 * 1024 * 1024);
  await bounded.close();
  endless.close();
});

it('reports a large error response by its status', async () => {
  expect(await failureOf(client.searchDrugsAndLabs({ q: 'fault-huge-500' }))).toMatchObject({
    name: 'Unavailable',
    status: 500,
  });
});

it('names the field missing at abha_end, and still returns the received JSON', async () => {
  const misconfigured = createServiceClient({
    baseUrl: sandbox.url,
    token: sandboxToken,
    serviceIdentifierField: 'other',
  });
  const call = misconfigured.verifyAadhaarOtp({ mobile: '9876543210', otp: '111111', txn_id: 'start-lost' });
  const error = (await failureOf(call)) as ServiceError & { received(): unknown };
  expect(error).toMatchObject({
    name: 'UnreadableResponse',
    message: expect.stringContaining('serviceIdentifierField is "other"'),
  });
  expect(error.received()).toMatchObject({ refresh_token: 'sandbox-refresh-token' });
  await misconfigured.close();
});

it("ends at once with the signal's reason when the caller aborts", async () => {
  const controller = new AbortController();
  const before = sandbox.requests.length;
  const call = client.searchDrugsAndLabs({ q: 'fault-hang' }, { signal: controller.signal });
  const reason = new Error('enough');
  const failed = failureOf(call);
  controller.abort(reason);
  expect(await failed).toBe(reason);

  await expect(client.searchDrugsAndLabs({ q: 'a' }, { signal: controller.signal })).rejects.toBe(reason);
  expect(sandbox.requests.length - before).toBeLessThanOrEqual(1);
});

it('ends within its timeout even if the token source never settles', async () => {
  const waiting = createServiceClient({
    baseUrl: sandbox.url,
    token: () => new Promise<string>(() => {}),
    ...quick,
  });
  const call = waiting.verifyAadhaarOtp({ mobile: '9876543210', otp: '111111', txn_id: 'start-token' });
  expect(await failureOf(call)).toMatchObject({
    name: 'Unavailable',
    reason: 'time-out',
    mayHaveReached: false,
  });
  await waiting.close();
});
