import { createServiceClient, RefusedInput, type ServiceClient } from '../../src/client/index.ts';
import { sandboxToken } from '../../src/sandbox/platform-server.ts';
import { failureOf, newTransaction, usePlatform, useResponses } from './platform.ts';

const platform = usePlatform();
const { respondingWith } = useResponses();

const mobile = '9876543210';
const identifier = { min_token: 'sandbox-min-token', oid: '123456789012345', uuid: null };
const registration = '/abdm/na/v1/registration';
const last = () => {
  const request = platform.requests().at(-1)!;
  return { ...request, path: request.path.replace(/^\/fault-none/, '') };
};

it('Verify OTP sends the documented fields and headers with a bearer token, and reads the response', async () => {
  const request = { mobile, otp: '111111', txn_id: newTransaction() };
  const headers = { ptId: 'pt 1', partnerPtId: 'partner-1', hipId: 'hip-1' };
  const { raw, ...response } = await platform.client().verifyAadhaarOtp(request, headers);
  expect(last()).toMatchObject({ method: 'POST', path: `${registration}/aadhaar/verify`, body: request });
  expect(last().headers).toMatchObject({
    authorization: `Bearer ${sandboxToken}`,
    'content-type': 'application/json',
    'x-pt-id': 'pt 1',
    'x-partner-pt-id': 'partner-1',
    'x-hip-id': 'hip-1',
  });
  expect(response).toMatchObject({
    abha_profiles: [{ abha_address: 'asha.sample@sbx', kyc_verified: 'VERIFIED', name: 'Asha Sample' }],
    svc: identifier,
    hint: '******3210',
    profile: { abha_address: 'asha.sample@sbx', abha_number: '91-0000-0000-0000', first_name: null, mobile },
    refresh_token: 'sandbox-refresh-token',
    skip_state: 'abha_end',
    token: 'sandbox-abha-token',
  });
  expect(response.profile).not.toHaveProperty('state_name');
  expect(raw).toMatchObject({ maker: identifier, profile: { state_name: 'Sample State' } });
});

it('an address is created by mobile with every field of the profile', async () => {
  const profile = {
    address: '1 Sample Street',
    day_of_birth: 2,
    month_of_birth: 3,
    year_of_birth: 1980,
    first_name: 'आशा',
    middle_name: '',
    last_name: 'Sample',
    gender: 'F',
    pincode: '560001',
  };
  const request = { abha_address: 'asha@sbx', profile, txn_id: newTransaction() };
  const response = await platform.client().createAddressByMobile(request);
  expect(last()).toMatchObject({ path: `${registration}/mobile/create-phr`, body: request });
  expect(Object.keys(last().headers).filter((name) => name.startsWith('x-'))).toEqual([]);
  expect(response).toMatchObject({ svc: identifier, profile, skip_state: 'abha_end', success: true });
});

it('an address is created by Aadhaar with the transaction id of Verify OTP, which is good once', async () => {
  const client = platform.client();
  const verified = await client.verifyAadhaarOtp({ mobile, otp: '444444', txn_id: newTransaction() });
  expect(verified).toMatchObject({ skip_state: 'abha_create' });
  expect(verified).not.toHaveProperty('svc');
  const request = { abha_address: 'asha@sbx', txn_id: verified.txn_id! };
  const response = await client.createAddressByAadhaar(request, { ptId: 'pt-1' });
  expect(last()).toMatchObject({ path: `${registration}/aadhaar/create-phr`, body: request });
  expect(response).toMatchObject({ svc: identifier, skip_state: 'abha_end', token: 'sandbox-abha-token' });
  expect(await failureOf(client.createAddressByAadhaar(request))).toMatchObject({
    name: 'Rejected',
    status: 422,
    transactionId: request.txn_id,
  });
});

it('the search sends its defaults and any text, and reads drugs and laboratory tests', async () => {
  const client = platform.client();
  const q = 'ibuprofen & 5% /? #ñ "ज्वर"';
  expect(await client.searchDrugsAndLabs({ q })).toMatchObject({ drugs: [], lab_tests: [] });
  expect(last()).toMatchObject({
    method: 'GET',
    path: '/medical-db/v1/drugs-and-labs',
    query: { q, limit: '10', s_type: 'drug' },
  });
  const { drugs } = await client.searchDrugsAndLabs({ q: 'paracetamol', limit: 1 });
  expect(drugs).toEqual([expect.objectContaining({ generic_name: 'Paracetamol 500 mg', is_otc: true })]);
  const { lab_tests } = await client.searchDrugsAndLabs({ q: 'Lipid', limit: 100, s_type: 'lab' });
  expect(lab_tests).toEqual([expect.objectContaining({ name: 'Lipid profile', price: 499.75 })]);
});

it('a subscription is created, listed and deleted, and an endpoint has at most one', async () => {
  const client = platform.client();
  const request = {
    endpoint: 'https://receiver.example/events',
    protocol: 'https',
    event_names: ['receipt.created'],
    signing_key: 'a-key-of-ours',
  };
  const { id } = await client.createSubscription(request);
  expect((await client.listSubscriptions()).data).toMatchObject([{ id, ...request }]);
  expect(await failureOf(client.createSubscription(request))).toMatchObject({
    name: 'Rejected',
    status: 400,
    code: 'INVALID_REQUEST',
  });
  expect(await client.deleteSubscription({ id: id! })).toBeUndefined();
  expect((await client.listSubscriptions()).data).toEqual([]);
});

it('a page of appointments has what is documented, all that was received, and when it was answered', async () => {
  const received = { appointment_id: 7, status: 'NEW', custom: { a: 1 } };
  const date = 'Sat, 01 Aug 2026 10:00:00 GMT';
  const days = { start_date: '2026-08-01', end_date: '2026-08-07', page_no: 3 };
  const client = respondingWith(200, JSON.stringify({ appointments: [received] }), { Date: date });
  expect(await client.listAppointments(days)).toEqual({
    appointments: [{ appointment_id: '7', status: 'NEW' }],
    answeredAt: new Date(date),
    raw: { appointments: [received] },
  });
  const empty = respondingWith(200, '{"appointments":null}');
  expect((await empty.listAppointments(days)).appointments).toEqual([]);
  await platform.client('none', { clientId: 'our-client' }).listAppointments(days);
  expect(last()).toMatchObject({
    query: { start_date: '2026-08-01', end_date: '2026-08-07', page_no: '3' },
    headers: { auth: sandboxToken, authorization: `Bearer ${sandboxToken}`, 'client-id': 'our-client' },
  });
});

it('the directory is read with whatever it has', async () => {
  const data = { clinics: [{ clinic_id: 5, name: null }], doctors: null };
  const read = await respondingWith(200, JSON.stringify({ data })).directory();
  expect(read.data).toEqual({ clinics: [{ clinic_id: '5', name: null, doctors: [] }], doctors: [] });
});

const verify = { mobile, otp: '654321', txn_id: 'start-invalid' };
const create = { abha_address: 'asha@sbx', txn_id: 'start-invalid' };
const page = { start_date: '2026-08-01', end_date: '2026-08-07', page_no: 0 };

it.each<[string, (c: ServiceClient) => Promise<unknown>, string]>([
  ['a country code', (c) => c.verifyAadhaarOtp({ ...verify, mobile: `+91${mobile}` }), 'mobile'],
  ['an empty OTP', (c) => c.verifyAadhaarOtp({ ...verify, otp: '' }), 'otp'],
  ['no transaction id', (c) => c.verifyAadhaarOtp({ ...verify, txn_id: undefined as never }), 'txn_id'],
  ['a header that breaks its line', (c) => c.verifyAadhaarOtp(verify, { ptId: 'a\r\nb: c' }), 'X-Pt-Id'],
  ['no domain', (c) => c.createAddressByAadhaar({ ...create, abha_address: 'a' }), 'abha_address'],
  [
    'a misspelt field',
    (c) => c.createAddressByMobile({ ...create, profile: { name: '' } as never }),
    'profile',
  ],
  ['two letters', (c) => c.createAddressByMobile({ ...create, profile: { gender: 'FF' } }), 'profile.gender'],
  ['an empty query', (c) => c.searchDrugsAndLabs({ q: '' }), 'q'],
  ['a limit of 101', (c) => c.searchDrugsAndLabs({ q: 'a', limit: 101 }), 'limit'],
  ['another search type', (c) => c.searchDrugsAndLabs({ q: 'a', s_type: 'herb' as never }), 's_type'],
  ['an id that is another path', (c) => c.deleteSubscription({ id: '..' }), 'id'],
  ['a page before the first', (c) => c.listAppointments({ ...page, page_no: -1 }), 'page_no'],
  ['nothing at all', (c) => c.searchDrugsAndLabs(undefined as never), 'input'],
])('refuses %s before anything is sent, and quotes nothing of it', async (_, call, path) => {
  const error = (await failureOf(call(platform.client()))) as RefusedInput;
  expect(error).toBeInstanceOf(RefusedInput);
  expect(error.issues.map((issue) => issue.path)).toEqual([path]);
  expect(error.message).not.toMatch(/98765|FF|herb/);
  expect(platform.requests()).toEqual([]);
});

it.each(['ftp://127.0.0.1', 'no address', 'http://user:secret@127.0.0.1', 'http://127.0.0.1/?key=secret'])(
  'refuses the base address %s, and does not quote it',
  (baseUrl) => {
    expect(() => createServiceClient({ baseUrl, token: sandboxToken })).toThrow(
      'baseUrl must be an http(s) address without credentials, query or fragment',
    );
  },
);
