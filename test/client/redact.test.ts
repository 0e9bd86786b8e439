import { inspect } from 'node:util';
import fc from 'fast-check';
import { createServiceClient, type ServiceClient, type ServiceError } from '../../src/client/index.ts';
import { redact, secretsOf } from '../../src/client/redact.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { failureOf } from './calls.ts';

let sandbox: Sandbox;
let client: ServiceClient;

beforeAll(async () => {
  sandbox = await startSandbox({ serviceIdentifierField: 'maker' });
  client = createServiceClient({ baseUrl: sandbox.url, token: sandboxToken });
});
afterAll(async () => {
  await client.close();
  await sandbox.close();
});

const everythingPrinted = (error: unknown) =>
  [
    inspect(error, { depth: null, showHidden: true }),
    JSON.stringify(error),
    String(error),
    (error as Error).stack,
  ].join();

it('shows neither token nor OTP nor mobile when the platform echoes the whole request', async () => {
  const request = { mobile: '9000000008', otp: '73', txn_id: 'start-echo' };
  const error = (await failureOf(
    client.verifyAadhaarOtp(request, { ptId: 'patient-of-ours', hipId: 'hip' }),
  )) as ServiceError;

  expect(error).toMatchObject({ name: 'Rejected', status: 400, transactionId: 'start-echo' });
  expect(error.body).toContain('"otp":"[redacted]"');
  const printed = everythingPrinted(error);
  for (const secret of [sandboxToken, '"73"', request.mobile, 'patient-of-ours']) {
    expect(printed).not.toContain(secret);
  }
});

it('shows no token that is not a JWT either', async () => {
  const opaque = await startSandbox({ tokens: ['opaque-token'] });
  const caller = createServiceClient({ baseUrl: opaque.url, token: 'opaque-token' });
  const error = (await failureOf(caller.searchDrugsAndLabs({ q: 'fault-echo' }))) as ServiceError;
  expect(error.body).toContain('Bearer [redacted]');
  expect(everythingPrinted(error)).not.toContain('opaque-token');
  await caller.close();
  await opaque.close();
});

it('shows nothing of the profile when the platform echoes the whole request', async () => {
  const profile = {
    first_name: 'आशा',
    last_name: 'O"Sample',
    address: '1 Sample Street',
    year_of_birth: 1981,
  };
  const error = await failureOf(
    client.createAddressByMobile({ abha_address: 'fault-echo@sbx', profile, txn_id: 'start-echo' }),
  );
  const printed = everythingPrinted(error);
  for (const secret of ['आशा', 'Sample', '1981', '@sbx', sandboxToken]) expect(printed).not.toContain(secret);
});

it('shows nothing of a JSON response that does not match the interface', async () => {
  const strange = createServiceClient({
    baseUrl: sandbox.url,
    token: sandboxToken,
    serviceIdentifierField: 'other',
  });
  const call = strange.verifyAadhaarOtp({ mobile: '9876543210', otp: '111111', txn_id: 'start-shape' });
  const printed = everythingPrinted(await failureOf(call));
  for (const secret of [
    'sandbox-refresh-token',
    'sandbox-abha-token',
    'sandbox-min-token',
    'Asha',
    '91-0000',
  ]) {
    expect(printed).not.toContain(secret);
  }
  await strange.close();
});

describe('redact', () => {
  it('removes an Aadhaar-linked number however it is grouped', () => {
    const text = 'no 9999 8888 7777, nor 91-0000-0000-0000, nor (987) 654-3210, nor 987654';
    expect(redact(text, [])).toBe('no [number], nor [number], nor ([number], nor [number]');
  });

  it('keeps error codes and messages', () => {
    expect(redact('{"error":{"code":"E-1042","message":"wrong OTP"}}', [])).toBe(
      '{"error":{"code":"E-1042","message":"wrong OTP"}}',
    );
  });

  it('recognises JSON escapes', () => {
    expect(redact('{"otp":"\\u0037\\u0033","m":"\\u0039876543210"}', ['73'])).toBe(
      '{"otp":"[redacted]","m":"[number]"}',
    );
  });

  it('cuts a long run of one kind of character to the limit', () => {
    for (const run of ['a', '1', 'eyJ', ' ', '@']) {
      expect(redact(run.repeat(500_000), []).length).toBeLessThanOrEqual(501);
    }
  });

  it('never shows a text of the request, wherever it is in the response', () => {
    const word = fc.string({ minLength: 3, maxLength: 20, unit: 'grapheme' }).filter((s) => !isOurOwn(s));
    fc.assert(
      fc.property(
        word,
        fc.array(word),
        fc.string(),
        fc.string(),
        fc.boolean(),
        (secret, others, before, after, asJson) => {
          const echo = `${before}${secret}${after}`;
          const body = asJson ? JSON.stringify({ echo }) : echo;
          const shown = redact(body, secretsOf({ secret, others }));
          expect(shown).not.toContain(secret);
        },
      ),
    );
  });

  // Pieces of the placeholder or of the JSON around it.
  const isOurOwn = (text: string) =>
    '[redacted][redacted]'.includes(text) || '{"echo":"'.includes(text) || '"}'.includes(text);
});
