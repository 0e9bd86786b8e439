import { createServiceClient, nextStep, type ServiceClient } from '../../src/client/index.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { newTransaction } from './calls.ts';

let sandbox: Sandbox;
let client: ServiceClient;

beforeAll(async () => {
  sandbox = await startSandbox({ serviceIdentifierField: 'maker' });
  client = createServiceClient({
    baseUrl: sandbox.url,
    token: sandboxToken,
    serviceIdentifierField: 'maker',
  });
});
afterAll(async () => {
  await client.close();
  await sandbox.close();
});

const mobile = '9876543210';
const identifier = { min_token: 'sandbox-min-token', oid: '123456789012345', uuid: null };

describe('Verify OTP (section 4.1)', () => {
  it('sends the documented fields and headers, with a bearer token, as JSON', async () => {
    const request = { mobile, otp: '111111', txn_id: newTransaction() };
    await client.verifyAadhaarOtp(request, { ptId: 'pt 1', partnerPtId: 'partner-1', hipId: 'hip-1' });

    expect(sandbox.requests.at(-1)).toMatchObject({
      method: 'POST',
      path: '/abdm/na/v1/registration/aadhaar/verify',
      body: request,
      headers: {
        authorization: `Bearer ${sandboxToken}`,
        'content-type': 'application/json',
        'x-pt-id': 'pt 1',
        'x-partner-pt-id': 'partner-1',
        'x-hip-id': 'hip-1',
      },
    });
  });

  it('sends none of the optional headers by default', async () => {
    await client.verifyAadhaarOtp({ mobile, otp: '111111', txn_id: newTransaction() });
    const { headers } = sandbox.requests.at(-1)!;
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^x-/)]));
  });

  it('reads every documented field, null or not, and has unknown ones under raw', async () => {
    const { raw, ...response } = await client.verifyAadhaarOtp({
      mobile,
      otp: '111111',
      txn_id: newTransaction(),
    });
    expect(response).toEqual({
      abha_profiles: [{ abha_address: 'asha.sample@sbx', kyc_verified: 'VERIFIED', name: 'Asha Sample' }],
      svc: identifier,
      hint: '******3210',
      profile: {
        abha_address: 'asha.sample@sbx',
        abha_addresses: ['asha.sample@sbx'],
        abha_number: '91-0000-0000-0000',
        address: null,
        day_of_birth: null,
        month_of_birth: null,
        year_of_birth: 1990,
        first_name: null,
        middle_name: null,
        last_name: null,
        gender: null,
        kyc_verified: true,
        mobile,
        pincode: null,
      },
      refresh_token: 'sandbox-refresh-token',
      skip_state: 'abha_end',
      token: 'sandbox-abha-token',
      txn_id: '',
    });
    expect(raw).toMatchObject({ skip_state: 'abha_end', profile: { mobile, state_name: 'Sample State' } });
  });

  it.each([
    ['111111', 'abha_end'],
    ['222222', 'confirm_mobile_otp'],
    ['333333', 'abha_select'],
    ['444444', 'abha_create'],
  ] as const)('with OTP %s reaches %s; svc is present at the end only', async (otp, state) => {
    const response = await client.verifyAadhaarOtp({ mobile, otp, txn_id: newTransaction() });
    expect(response.skip_state).toBe(state);
    expect('svc' in response).toBe(state === 'abha_end');
    expect(nextStep(response)).toMatchObject({
      state,
      serviceIdentifier: state === 'abha_end' ? 'present' : 'not stated',
    });
  });
});

describe('Create health address by mobile (section 4.2)', () => {
  const profile = {
    address: '1 Sample Street',
    day_of_birth: 2,
    first_name: 'आशा',
    gender: 'F',
    last_name: 'Sample',
    middle_name: '',
    month_of_birth: 3,
    pincode: '560001',
    year_of_birth: 1980,
  };

  it('sends the address, every profile field and the headers, and reads the response', async () => {
    const request = { abha_address: 'asha@sbx', profile, txn_id: newTransaction() };
    const response = await client.createAddressByMobile(request, { hipId: 'hip-1' });

    expect(sandbox.requests.at(-1)).toMatchObject({
      path: '/abdm/na/v1/registration/mobile/create-phr',
      body: request,
      headers: { 'x-hip-id': 'hip-1' },
    });
    expect(response).toMatchObject({
      svc: identifier,
      profile,
      refresh_token: 'sandbox-refresh-token',
      skip_state: 'abha_end',
      success: true,
      token: 'sandbox-abha-token',
    });
  });

  it.each(['abha_end', 'confirm_mobile_otp', 'abha_select', 'abha_create'])(
    'can return %s',
    async (state) => {
      const abha_address = `state-${state}@sbx`;
      const response = await client.createAddressByMobile({
        abha_address,
        profile: {},
        txn_id: newTransaction(),
      });
      expect(response.skip_state).toBe(state);
      expect('svc' in response).toBe(state === 'abha_end');
    },
  );
});

describe('Create health address by Aadhaar (section 4.3)', () => {
  it('accepts the transaction id of Verify OTP, once', async () => {
    const verified = await client.verifyAadhaarOtp({ mobile, otp: '444444', txn_id: newTransaction() });
    const request = { abha_address: 'asha@sbx', txn_id: verified.txn_id! };
    const response = await client.createAddressByAadhaar(request, { ptId: 'pt-1' });

    expect(sandbox.requests.at(-1)).toMatchObject({
      path: '/abdm/na/v1/registration/aadhaar/create-phr',
      body: request,
      headers: { 'x-pt-id': 'pt-1' },
    });
    expect(response).toMatchObject({
      svc: identifier,
      hint: '******3210',
      profile: { abha_address: 'asha@sbx' },
      refresh_token: 'sandbox-refresh-token',
      skip_state: 'abha_end',
      token: 'sandbox-abha-token',
      txn_id: '',
    });
    await expect(client.createAddressByAadhaar(request)).rejects.toMatchObject({
      name: 'Rejected',
      status: 422,
    });
  });

  it.each(['confirm_mobile_otp', 'abha_select', 'abha_create'])(
    'can return %s, and the next call accepts its transaction id',
    async (state) => {
      const verified = await client.verifyAadhaarOtp({ mobile, otp: '444444', txn_id: newTransaction() });
      const first = await client.createAddressByAadhaar({
        abha_address: `state-${state}@sbx`,
        txn_id: verified.txn_id!,
      });
      expect(first.skip_state).toBe(state);
      const last = await client.createAddressByAadhaar({ abha_address: 'asha@sbx', txn_id: first.txn_id! });
      expect(last.skip_state).toBe('abha_end');
    },
  );

  it('is rejected with a transaction id of another operation', async () => {
    const request = { abha_address: 'asha@sbx', txn_id: newTransaction() };
    await expect(client.createAddressByAadhaar(request)).rejects.toMatchObject({
      name: 'Rejected',
      status: 422,
      transactionId: request.txn_id,
    });
  });
});

describe('Search drugs and laboratory tests (section 4.4)', () => {
  it('requests 10 drugs by default', async () => {
    const found = await client.searchDrugsAndLabs({ q: 'a' });
    expect(sandbox.requests.at(-1)).toMatchObject({
      method: 'GET',
      path: '/medical-db/v1/drugs-and-labs',
      query: { q: 'a', limit: '10', s_type: 'drug' },
      headers: { authorization: `Bearer ${sandboxToken}` },
    });
    expect(found.drugs).toHaveLength(10);
    expect(found.lab_tests).toEqual([]);
  });

  it('reads every field of a drug', async () => {
    const { drugs } = await client.searchDrugsAndLabs({ q: 'paracetamol', limit: 1 });
    expect(drugs).toEqual([
      {
        id: 'drug-11',
        name: 'Nilparacetamol tablet',
        manufacturer_name: 'Nilgiri Remedies',
        product_type: 'tablet',
        generic_name: 'Paracetamol 500 mg',
        generic_id: 'gen-1',
        common_name: 'paracetamol',
        soa: true,
        drug_name_match: true,
        product_sku: 'SKU11',
        action_class: { name: 'over the counter' },
        include_suggestion: true,
        highlighted_fields: { generic_name: '<em>Paracetamol</em> 500 mg' },
        is_otc: true,
      },
    ]);
  });

  it('reads every field of a laboratory test', async () => {
    const { drugs, lab_tests } = await client.searchDrugsAndLabs({ q: 'Lipid', limit: 100, s_type: 'lab' });
    expect(drugs).toEqual([]);
    expect(lab_tests).toEqual([
      {
        id: 'lab-3',
        name: 'Lipid profile',
        description: 'Lipid profile, sample laboratory',
        category: 'Biochemistry',
        price: 499.75,
        preparation: 'Nothing but water for 10 hours',
      },
    ]);
  });

  it('sends any query text unchanged', async () => {
    const q = 'ibuprofen & 5% /? #ñ "ज्वर"';
    await client.searchDrugsAndLabs({ q });
    expect(sandbox.requests.at(-1)).toMatchObject({ query: { q } });
  });

  it('keeps its connections for later calls', async () => {
    for (let count = 0; count < 20; count++) await client.searchDrugsAndLabs({ q: 'a' });
    const ports = new Set(sandbox.requests.slice(-20).map((r) => r.clientPort));
    // Two, not one: a connection is free again only a moment after its response was read.
    expect(ports.size).toBeLessThanOrEqual(2);
  });
});

it('keeps the path prefix of the base address', async () => {
  const prefixed = createServiceClient({ baseUrl: `${sandbox.url}/gateway`, token: sandboxToken });
  await expect(prefixed.searchDrugsAndLabs({ q: 'a' })).rejects.toMatchObject({ status: 404 });
  expect(sandbox.requests.at(-1)).toMatchObject({ path: '/gateway/medical-db/v1/drugs-and-labs' });
  await prefixed.close();
});
