import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

const search = '/medical-db/v1/drugs-and-labs';
const verify = '/abdm/na/v1/registration/aadhaar/verify';
const byMobile = '/abdm/na/v1/registration/mobile/create-phr';
const byAadhaar = '/abdm/na/v1/registration/aadhaar/create-phr';
const authorization = `Bearer ${sandboxToken}`;

interface Body {
  readonly drugs?: unknown[];
  readonly txn_id?: string;
  readonly error?: { readonly code: string };
}

async function post(path: string, body: unknown) {
  const response = await fetch(sandbox.url + path, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Body };
}
const get = async (query: string, headers: Record<string, string> = { authorization }) => {
  const response = await fetch(`${sandbox.url}${search}${query}`, { headers });
  return { status: response.status, body: (await response.json()) as Body };
};

it.each([
  ['no Authorization header', {}],
  ['another token', { authorization: 'Bearer other' }],
  ['another scheme', { authorization: `Basic ${sandboxToken}` }],
])('responds with 401 to %s', async (_, headers) => {
  expect(await get('?q=a', headers as Record<string, string>)).toMatchObject({
    status: 401,
    body: { error: { code: 'unauthorized' } },
  });
});

it('returns ten drugs by default, and as many as the limit allows', async () => {
  expect((await get('?q=a')).body.drugs).toHaveLength(10);
  expect((await get('?q=a&limit=3&s_type=drug')).body.drugs).toHaveLength(3);
  expect((await get('?q=bio&s_type=lab')).body).toMatchObject({
    drugs: [],
    lab_tests: [{ category: 'Biochemistry' }, {}],
  });
});

it.each(['', '?q=', '?q=a&limit=0', '?q=a&limit=101', '?q=a&limit=x', '?q=a&s_type=herb'])(
  'responds with 400 to the search %p',
  async (query) => {
    expect((await get(query)).status).toBe(400);
  },
);

it('responds with 404 to unknown paths, and with 400 to a body that is not JSON', async () => {
  expect((await post('/elsewhere', {})).status).toBe(404);
  expect((await post(verify, '{"mobile":')).status).toBe(400);
});

it.each([
  [verify, { otp: '111111', txn_id: 'start-a' }],
  [verify, { mobile: '987', otp: '111111', txn_id: 'start-a' }],
  [byMobile, { abha_address: 'asha@sbx', txn_id: 'start-a' }],
  [byAadhaar, { abha_address: 'asha', txn_id: 'start-a' }],
])('responds with 422 to %s if a required field is missing or invalid', async (path, body) => {
  expect(await post(path, body)).toMatchObject({ status: 422, body: { error: { code: 'invalid_request' } } });
});

it('responds with 422 to a wrong OTP, and accepts the right one after it, once', async () => {
  const request = { mobile: '9876543210', txn_id: 'start-otp' };
  expect(await post(verify, { ...request, otp: '000000' })).toMatchObject({
    status: 422,
    body: { error: { code: 'wrong_otp' } },
  });
  expect((await post(verify, { ...request, otp: '111111' })).status).toBe(200);
  expect(await post(verify, { ...request, otp: '111111' })).toMatchObject({
    status: 422,
    body: { error: { code: 'invalid_transaction' } },
  });
});

it('accepts transaction ids in order only', async () => {
  const abha_address = 'asha@sbx';
  const rejected = { status: 422, body: { error: { code: 'invalid_transaction' } } };
  expect(await post(byAadhaar, { abha_address, txn_id: 'start-order' })).toMatchObject(rejected);
  expect(await post(byAadhaar, { abha_address, txn_id: 'made-up' })).toMatchObject(rejected);

  const first = await post(verify, { mobile: '9876543210', otp: '444444', txn_id: 'start-order' });
  const { txn_id } = first.body;
  expect(await post(byMobile, { abha_address, profile: {}, txn_id })).toMatchObject(rejected);
  expect((await post(byAadhaar, { abha_address, txn_id })).status).toBe(200);
  expect(await post(byAadhaar, { abha_address, txn_id })).toMatchObject(rejected);
});

it('responds with 409 to a taken address, and the transaction id stays valid', async () => {
  const txn_id = 'start-taken';
  expect((await post(byMobile, { abha_address: 'taken@sbx', profile: {}, txn_id })).status).toBe(409);
  expect((await post(byMobile, { abha_address: 'free@sbx', profile: {}, txn_id })).status).toBe(200);
});

it.each([400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504])(
  'responds with %i on demand',
  async (status) => {
    expect((await get(`?q=fault-${status}`)).status).toBe(status);
    const mobile = `9000000${status}`;
    expect((await post(verify, { mobile, otp: '111111', txn_id: 'start-demand' })).status).toBe(status);
    const abha_address = `fault-${status}@sbx`;
    expect((await post(byMobile, { abha_address, profile: {}, txn_id: 'start-demand' })).status).toBe(status);
  },
);

it('delays the regular response on demand', async () => {
  const slow = await startSandbox({ slowMs: 20 });
  const response = await fetch(`${slow.url}${search}?q=fault-slow`, { headers: { authorization } });
  expect(await response.json()).toEqual({ drugs: [], lab_tests: [] });
  await slow.close();
});

it('keeps the last thousand requests', async () => {
  for (let count = 0; count < 1_010; count += 101) {
    await Promise.all(Array.from({ length: 101 }, (_, i) => get(`?q=${count + i}`)));
  }
  expect(sandbox.requests).toHaveLength(1_000);
});
