import { newRecords } from '../../src/sandbox/platform-records.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/platform-server.ts';
import { samples } from '../support/callbacks.ts';

const records = newRecords([
  { kind: 'business', id: 'b-9', alias: 'North' },
  { kind: 'clinic', id: 'c-1', alias: 'Lake Road' },
  { kind: 'doctor', id: 'd-1', alias: 'Dr Rao' },
]);
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ records });
});
afterAll(() => sandbox.close());

const authorization = `Bearer ${sandboxToken}`;
async function call(path: string, body?: unknown, headers: Record<string, string> = { authorization }) {
  const response = await fetch(sandbox.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...headers, auth: sandboxToken, 'content-type': 'application/json' },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
const search = '/medical-db/v1/drugs-and-labs';
const verify = '/abdm/na/v1/registration/aadhaar/verify';

it('responds with 401 without a valid token, with 404 to unknown paths, with 400 or 422 to what does not fit', async () => {
  for (const headers of [{}, { authorization: 'Bearer other' }])
    expect((await call(`${search}?q=a`, undefined, headers as never)).status).toBe(401);
  expect((await call('/elsewhere', {})).status).toBe(404);
  expect((await call(verify, '{"mobile":')).status).toBe(400);
  expect((await call(`${search}?q=a&limit=101`)).status).toBe(400);
  const invalid = await call(verify, { mobile: '987', otp: '111111', txn_id: 'a' });
  expect(invalid).toMatchObject({ status: 422, body: { error: { code: 'invalid_request' } } });
});

it('a wrong OTP leaves its transaction id valid, the right one is good once', async () => {
  const request = { mobile: '9876543210', txn_id: 'otp' };
  expect((await call(verify, { ...request, otp: '000000' })).body).toMatchObject({
    error: { code: 'wrong_otp' },
  });
  expect((await call(verify, { ...request, otp: '222222' })).body).toMatchObject({
    skip_state: 'confirm_mobile_otp',
  });
  const again = await call(verify, { ...request, otp: '111111' });
  expect(again).toMatchObject({ status: 422, body: { error: { code: 'invalid_transaction' } } });
});

it('lists the appointments of days in India, of one business, and names its clinics and doctors', async () => {
  const created_at = Date.parse('2026-06-01T23:40:00+05:30') / 1000;
  records.take(samples.appointment({ business_id: 'b-9', data: { created_at, status: 'BK' } }));
  records.take(samples.appointment({ business_id: 'b-9', data: { created_at, status: 'CM' } }));
  records.take(
    samples.appointment({ business_id: 'b-8', data: { created_at, appointment_id: 'of another' } }),
  );
  records.take(samples.receipt({ business_id: 'b-9' }));
  const list = (from: string, to: string) => call(`/dr/v1/appointment?start_date=${from}&end_date=${to}`);
  const { appointments } = (await list('2026-05-28', '2026-06-01')).body as { appointments: object[] };
  expect(appointments).toEqual([expect.objectContaining({ status: 'CM', start_time: expect.any(Number) })]);
  expect((await list('2026-06-02', '2026-06-03')).body).toEqual({ appointments: [] });
  expect((await list('2026-06-01', '2026-06-09')).status).toBe(400);
  expect((await call('/dr/v1/business/entities')).body).toMatchObject({
    data: {
      business: { business_id: 'b-9', name: 'North' },
      clinics: [{ clinic_id: 'c-1', name: 'Lake Road' }],
      doctors: [{ doctor_id: 'd-1', name: 'Dr Rao' }],
    },
  });
});
