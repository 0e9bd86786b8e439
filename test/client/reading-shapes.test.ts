import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServiceClient, type ServiceClient } from '../../src/client/index.ts';
import { failureOf } from './calls.ts';

/** The body of every response, and its Date header, if it has one. */
let body: unknown;
let date: string | undefined;
let client: ServiceClient;

const server = createServer((_, response) => {
  response.sendDate = false;
  if (date !== undefined) response.setHeader('Date', date);
  response.end(JSON.stringify(body));
});
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  client = createServiceClient({ baseUrl: `http://127.0.0.1:${port}`, token: 'token' });
});
beforeEach(() => {
  date = undefined;
});
afterAll(async () => {
  await client.close();
  server.close();
});

const days = { startDate: '2026-08-01', endDate: '2026-08-01', pageNo: 0 };
const readPage = (appointments: unknown) => {
  body = { appointments };
  return client.appointmentsPage(days);
};

it('reads an appointment with any status, with unknown fields, numbers as ids, and almost nothing', async () => {
  const received = [
    {
      appointment_id: 7,
      status: 'ZZ',
      doctor_id: 12,
      created_at: '2026-08-01T09:00:00Z',
      fee: { paid: true },
    },
    { appointment_id: 'b' },
    { appointment_id: 'c', status: null, payment: null, prev_aids: [1, 'a'], next_aid: null },
  ];
  const { appointments, isLast } = await readPage(received);
  expect(appointments).toMatchObject([
    { appointment_id: '7', status: 'ZZ', doctor_id: '12', created_at: '2026-08-01T09:00:00Z' },
    { appointment_id: 'b' },
    { appointment_id: 'c', prev_aids: ['1', 'a'], next_aid: null },
  ]);
  expect(appointments[0]).not.toHaveProperty('fee');
  expect(appointments.map(({ raw }) => raw)).toEqual(received);
  expect(isLast).toBe(true);
});

it('takes null for an empty page, and refuses a response that has no list of appointments', async () => {
  expect(await readPage(null)).toMatchObject({ appointments: [], isLast: true });
  for (const wrong of [undefined, {}, [{ status: 'BK' }], [null]]) {
    expect(await failureOf(readPage(wrong))).toMatchObject({ name: 'UnreadableResponse', status: 200 });
  }
});

it('was answered at the Date of the response; without one, not after the request was sent', async () => {
  date = 'Sat, 01 Aug 2026 10:00:00 GMT';
  expect((await readPage([])).answeredAt).toEqual(new Date('2026-08-01T10:00:00Z'));
  for (const none of [undefined, 'soon']) {
    date = none;
    const before = Date.now();
    const reading = readPage([]);
    const after = Date.now() + 1_000;
    const time = (await reading).answeredAt.getTime();
    expect(time >= before && time <= after).toBe(true);
  }
});

it('reads a directory without clinics, doctors or business', async () => {
  const empty = { clinics: [], doctors: [] };
  body = { data: { clinics: null } };
  expect((await client.directory()).data).toEqual(empty);
  body = { data: { clinics: [{ clinic_id: 1, doctors: null }], doctors: [], business: null } };
  expect((await client.directory()).data).toEqual({
    clinics: [{ clinic_id: '1', doctors: [] }],
    doctors: [],
    business: null,
  });
});

it('does not read the same page of patients for ever', async () => {
  body = { profiles: [{ oid: 'p' }], nextPage: 0 };
  const read = async () => {
    for await (const _ of client.patients());
  };
  expect(await failureOf(read())).toMatchObject({
    name: 'UnreadableResponse',
    operation: 'listPatients',
    message: 'listPatients: page 0 names page 0 as the next',
  });
});

it.each([
  [{ error: { code: 'rate_limit_exceeded', message: 'm' } }, 'rate_limit_exceeded'],
  [{ code: 'TRANSACTION_ID_NOT_FOUND', message: 'm' }, 'TRANSACTION_ID_NOT_FOUND'],
  [{ message: 'm' }, undefined],
  [{ code: 'patient 616018847902730 is unknown' }, undefined],
  [{ code: 'secret' }, undefined],
  [{ code: 7 }, undefined],
  [null, undefined],
])('finds in the error %j the code %s', async (error, code) => {
  const failing = createServer((_, response) => void response.writeHead(400).end(JSON.stringify(error)));
  await once(failing.listen(0, '127.0.0.1'), 'listening');
  const baseUrl = `http://127.0.0.1:${(failing.address() as AddressInfo).port}`;
  const other = createServiceClient({ baseUrl, token: 'token', rateLimitTimeoutMs: 1 });
  const failure = await failureOf(other.appointment({ id: 'secret' }));
  expect(failure).toMatchObject({ name: 'Rejected', status: 400 });
  expect((failure as { code?: string }).code).toBe(code);
  await other.close();
  failing.close();
});
