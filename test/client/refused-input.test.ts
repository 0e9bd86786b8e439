import fc from 'fast-check';
import { createServiceClient, RefusedInput, type ServiceClient } from '../../src/client/index.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { failureOf } from './calls.ts';

let sandbox: Sandbox;
let client: ServiceClient;

beforeAll(async () => {
  sandbox = await startSandbox();
  client = createServiceClient({ baseUrl: sandbox.url, token: sandboxToken });
});
afterAll(async () => {
  await client.close();
  await sandbox.close();
});

const verify = { mobile: '9876543210', otp: '654321', txn_id: 'start-invalid' };
const create = { abha_address: 'asha@sbx', txn_id: 'start-invalid' };

// Input that plain JavaScript can pass; the types reject most of it.
const invalidInputs: [string, (c: ServiceClient) => Promise<unknown>, string][] = [
  ['a mobile of 9 digits', (c) => c.verifyAadhaarOtp({ ...verify, mobile: '987654321' }), 'mobile'],
  [
    'a mobile with its country code',
    (c) => c.verifyAadhaarOtp({ ...verify, mobile: '+919876543210' }),
    'mobile',
  ],
  [
    'a mobile in other digits than 0 to 9',
    (c) => c.verifyAadhaarOtp({ ...verify, mobile: '९८७६५४३२१०' }),
    'mobile',
  ],
  ['an empty OTP', (c) => c.verifyAadhaarOtp({ ...verify, otp: '' }), 'otp'],
  ['an OTP that is a number', (c) => c.verifyAadhaarOtp({ ...verify, otp: 654321 as never }), 'otp'],
  ['no transaction id', (c) => c.verifyAadhaarOtp({ ...verify, txn_id: undefined as never }), 'txn_id'],
  ['a header that breaks its line', (c) => c.verifyAadhaarOtp(verify, { ptId: 'a\r\nb: c' }), 'X-Pt-Id'],
  ['a header beyond ASCII', (c) => c.verifyAadhaarOtp(verify, { hipId: 'हिप' }), 'X-Hip-Id'],
  [
    'an address without a domain',
    (c) => c.createAddressByAadhaar({ ...create, abha_address: 'asha' }),
    'abha_address',
  ],
  ['no profile', (c) => c.createAddressByMobile(create as never), 'profile'],
  [
    'a misspelt profile field',
    (c) => c.createAddressByMobile({ ...create, profile: { firstname: 'Asha' } as never }),
    'profile',
  ],
  [
    'a gender of two letters',
    (c) => c.createAddressByMobile({ ...create, profile: { gender: 'FF' } }),
    'profile.gender',
  ],
  [
    'a birthday with a fraction',
    (c) => c.createAddressByMobile({ ...create, profile: { day_of_birth: 1.5 } }),
    'profile.day_of_birth',
  ],
  ['no query', (c) => c.searchDrugsAndLabs({} as never), 'q'],
  ['an empty query', (c) => c.searchDrugsAndLabs({ q: '' }), 'q'],
  ['a limit of 0', (c) => c.searchDrugsAndLabs({ q: 'a', limit: 0 }), 'limit'],
  ['a limit of 101', (c) => c.searchDrugsAndLabs({ q: 'a', limit: 101 }), 'limit'],
  ['a limit with a fraction', (c) => c.searchDrugsAndLabs({ q: 'a', limit: 1.5 }), 'limit'],
  ['another search type', (c) => c.searchDrugsAndLabs({ q: 'a', s_type: 'herb' as never }), 's_type'],
  ['nothing at all', (c) => c.searchDrugsAndLabs(undefined as never), 'input'],
];

it.each(invalidInputs)('rejects %s before anything is sent', async (_, call, path) => {
  const before = sandbox.requests.length;
  const error = await failureOf(call(client));
  expect(error).toBeInstanceOf(RefusedInput);
  expect((error as RefusedInput).issues.map((issue) => issue.path)).toEqual([path]);
  expect(sandbox.requests).toHaveLength(before);
});

it('accepts every limit from 1 to 100, and no other number', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.integer({ min: -5, max: 105 }), fc.double()), async (limit) => {
      const documented = Number.isInteger(limit) && limit >= 1 && limit <= 100;
      const sent = await client.searchDrugsAndLabs({ q: 'a', limit }).then(
        () => true,
        () => false,
      );
      expect(sent).toBe(documented);
    }),
    { numRuns: 60 },
  );
});

it('names what is wrong without quoting the input', async () => {
  const input = { mobile: '98765x3210', otp: '', txn_id: 'start-invalid' };
  const error = (await failureOf(client.verifyAadhaarOtp(input))) as RefusedInput;
  expect(error.message).toBe(
    'verifyAadhaarOtp: invalid input, not sent: mobile: must be a 10-digit mobile number; ' +
      'otp: Too small: expected string to have >=1 characters',
  );
  expect(error.transactionId).toBe('start-invalid');
});

it.each([
  'ftp://127.0.0.1',
  'not an address',
  'http://user:secret@127.0.0.1',
  'http://127.0.0.1/?key=secret',
])('rejects the base address %s, and does not quote it', (baseUrl) => {
  expect(() => createServiceClient({ baseUrl, token: sandboxToken })).toThrow(
    'baseUrl must be an http(s) address without credentials, query or fragment',
  );
});
