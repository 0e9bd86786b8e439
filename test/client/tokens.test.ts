import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient, type TokenSource } from '../../src/client/index.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { failureOf, newTransaction } from './calls.ts';

let sandbox: Sandbox;
let folder: string;

beforeEach(async () => {
  sandbox = await startSandbox({ tokens: ['first'] });
  folder = await mkdtemp(join(tmpdir(), 'token-'));
});
afterEach(async () => {
  await sandbox.close();
  await rm(folder, { recursive: true });
});

const clientWith = (token: TokenSource) => createServiceClient({ baseUrl: sandbox.url, token });
const tokensSent = () => sandbox.requests.map((r) => r.headers.authorization);

it('reads a token file again once it has changed', async () => {
  const file = join(folder, 'token');
  await writeFile(file, 'first\n');
  const client = clientWith({ file });
  await client.searchDrugsAndLabs({ q: 'a' });
  await writeFile(file, 'second\n');
  sandbox.accept(['second']);
  await client.searchDrugsAndLabs({ q: 'a' });
  expect(tokensSent()).toEqual(['Bearer first', 'Bearer second']);
  await client.close();
});

it('retries once after a 401, with a new token, and names the rejected one to the token source', async () => {
  const rejected: (string | undefined)[] = [];
  const client = clientWith(async ({ refused }) => {
    rejected.push(refused);
    return refused === undefined ? 'stale' : 'first';
  });
  const response = await client.verifyAadhaarOtp({
    mobile: '9876543210',
    otp: '111111',
    txn_id: newTransaction(),
  });
  expect(response.skip_state).toBe('abha_end');
  expect(tokensSent()).toEqual(['Bearer stale', 'Bearer first']);
  expect(rejected).toEqual([undefined, 'stale']);
  await client.close();
});

it('gives up after the second 401', async () => {
  let count = 0;
  const client = clientWith(() => `stale-${++count}`);
  expect(await failureOf(client.searchDrugsAndLabs({ q: 'a' }))).toMatchObject({
    name: 'Unauthorized',
    status: 401,
  });
  expect(tokensSent()).toEqual(['Bearer stale-1', 'Bearer stale-2']);
  await client.close();
});

it('does not send a rejected token again', async () => {
  const client = clientWith('stale');
  expect(await failureOf(client.searchDrugsAndLabs({ q: 'a' }))).toMatchObject({ name: 'Unauthorized' });
  expect(tokensSent()).toEqual(['Bearer stale']);
  await client.close();
});

it('reports the 401 when the token source has no new token', async () => {
  const client = clientWith(async ({ refused }) => {
    if (refused === undefined) return 'stale';
    throw new RangeError('secret-in-an-error');
  });
  expect(await failureOf(client.searchDrugsAndLabs({ q: 'a' }))).toMatchObject({
    name: 'Unauthorized',
    status: 401,
    message: 'searchDrugsAndLabs: the platform responded with 401, and the token source failed (RangeError)',
  });
  await client.close();
});

const unusable: [string, TokenSource, string][] = [
  ['is empty', '', 'returned no valid bearer token'],
  ['breaks its line', 'secret\r\nX-Evil: 1', 'returned no valid bearer token'],
  ['is a file that is missing', { file: '/nowhere/token' }, 'failed (ENOENT)'],
  ['throws', () => Promise.reject(new RangeError('secret-in-an-error')), 'failed (RangeError)'],
  ['returns nothing', () => undefined as never, 'returned no valid bearer token'],
];

it.each(unusable)(
  'sends nothing if the token source %s, and quotes nothing of it',
  async (_, token, says) => {
    const client = clientWith(token);
    const error = (await failureOf(client.searchDrugsAndLabs({ q: 'a' }))) as Error;
    expect(error).toMatchObject({ name: 'Unauthorized', status: undefined });
    expect(error.message).toBe(`searchDrugsAndLabs: the token source ${says}`);
    expect(sandbox.requests).toEqual([]);
    await client.close();
  },
);
