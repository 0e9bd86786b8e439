import { inspect } from 'node:util';
import {
  type Appointment,
  createServiceClient,
  type ServiceClient,
  type ServiceClientOptions,
} from '../../src/client/index.ts';
import { appointmentBook } from '../../src/sandbox/platform/book.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { until } from '../support/until.ts';
import { failureOf } from './calls.ts';

const dayMs = 24 * 3_600_000;
const start = Date.now() - 9 * dayMs;
const toDay = (time: number) => new Date(time).toISOString().slice(0, 10);
const days = { from: toDay(start - dayMs), to: toDay(Date.now() + dayMs) };

const book = appointmentBook({ seed: 1, start, appointments: 400, rescheduled: 5 });
for (const _ of book.past());
const { records } = book;
const firstOf = (map: ReadonlyMap<string, unknown>) => [...map.keys()][0]!;

let sandbox: Sandbox;
let client: ServiceClient;
const opened: ServiceClient[] = [];
beforeAll(async () => {
  sandbox = await startSandbox({ records, slowMs: 10 });
  client = open('none');
});
afterAll(async () => {
  await Promise.all(opened.map((each) => each.close()));
  await sandbox.close();
});

/** A client whose every call has a fault of the sandbox. */
function open(fault: string, options: Partial<ServiceClientOptions> = {}): ServiceClient {
  const baseUrl = `${sandbox.url}/fault-${fault}`;
  const retry = { firstPauseMs: 10 };
  const made = createServiceClient({
    baseUrl,
    token: sandboxToken,
    clientId: 'our-client',
    retry,
    ...options,
  });
  opened.push(made);
  return made;
}

it('reads the appointments of days, of a doctor, of a clinic and of a patient', async () => {
  const idsOf = async (query: Parameters<ServiceClient['appointments']>[0]) => {
    const ids: string[] = [];
    for await (const { appointment_id } of client.appointments(query)) ids.push(appointment_id);
    return ids.sort();
  };
  const all = [...records.appointments.values()];
  const where = (name: string, value: unknown) =>
    all.flatMap((each) => (each[name] === value ? [String(each.appointment_id)] : [])).sort();
  const [doctorId, clinicId, patientId] = ['doctor_id', 'clinic_id', 'patient_id'].map((name) =>
    String(all.find(({ prev_aids }) => prev_aids)![name]),
  ) as [string, string, string];

  expect(await idsOf(days)).toEqual([...records.appointments.keys()].sort());
  expect(await idsOf({ ...days, doctorId })).toEqual(where('doctor_id', doctorId));
  expect(await idsOf({ ...days, clinicId })).toEqual(where('clinic_id', clinicId));
  expect(await idsOf({ patientId })).toEqual(where('patient_id', patientId));
  expect(where('patient_id', patientId)).toHaveLength(2);
});

it('sends the token in both headers of a reading, and in one of the other operations', async () => {
  await client.directory();
  expect(sandbox.requests.at(-1)!.headers).toMatchObject({
    authorization: `Bearer ${sandboxToken}`,
    auth: sandboxToken,
    'client-id': 'our-client',
  });
  await client.searchDrugsAndLabs({ q: 'a' });
  expect(Object.keys(sandbox.requests.at(-1)!.headers)).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(auth|client-id)$/)]),
  );
});

it('returns a page with the time of its response, each appointment with its unknown fields', async () => {
  const query = { startDate: days.from, endDate: toDay(start + 4 * dayMs), pageNo: 0 };
  // Node.js sets the header Date by a timer, which a busy machine runs late.
  const before = Date.now() - 10_000;
  const { appointments, answeredAt, isLast } = await client.appointmentsPage(query);
  expect(appointments).toHaveLength(30);
  expect(isLast).toBe(false);
  expect(answeredAt.getTime()).toBeGreaterThanOrEqual(before);
  expect(answeredAt.getTime()).toBeLessThanOrEqual(Date.now());
  const { raw, ...known } = appointments[0]!;
  expect(records.appointments.get(known.appointment_id)).toMatchObject(known);
  expect(raw).toMatchObject(known);
});

it('reads one appointment with its links, also by the id of the partner', async () => {
  const [id, { prev_aids, partner_appointment_id }] = [...records.appointments].find(
    ([, each]) => each.prev_aids,
  )!;
  expect(await client.appointment({ id })).toMatchObject({ appointment_id: id, prev_aids });
  const [before] = prev_aids as string[];
  expect(await client.appointment({ id: before! })).toMatchObject({
    next_aid: id,
    status: expect.stringMatching(/^RE[SD]?$/),
  });
  const byPartner = await client.appointment({ id: String(partner_appointment_id), partner_id: 1 });
  expect(byPartner.appointment_id).toBe(id);
});

it('reads a prescription, the status of a payment, an admission and the directory', async () => {
  const prescription = firstOf(records.prescriptions);
  expect((await client.prescription({ id: prescription })).raw).toMatchObject({
    prescription_id: prescription,
  });
  const payment = firstOf(records.payments);
  expect(await client.transactionStatus({ transaction_id: payment })).toMatchObject({
    transaction_id: payment,
    payment_status: 'PAYMENT_SUCCESS',
    rrn: expect.stringMatching(/^\d{12}$/),
  });
  const admission = { event: 'ipd_admissions.created', business_id: records.businessId! };
  records.take({ ...admission, data: { id: 'adm-1', stage: 'admitted' } });
  expect((await client.admission({ id: 'adm-1' })).raw).toEqual({ id: 'adm-1', stage: 'admitted' });
  const { data } = await client.directory();
  expect(data.business).toEqual({ business_id: records.businessId, name: expect.any(String) });
  expect(data.clinics.map(({ clinic_id }) => clinic_id)).toEqual([...records.clinics.keys()]);
  expect(data.doctors.map(({ doctor_id }) => doctor_id).sort()).toEqual(
    Array.from(records.clinics.values(), (doctors) => [...doctors])
      .flat()
      .sort(),
  );
});

it('reads all patients, page by page', async () => {
  for (let number = 0; number < 700; number++) {
    const data = { patient_oid: `p-${number}`, created_at: 0, clinic_id: 'c', doctor_oid: 'd' };
    records.take({ event: 'receipt.created', business_id: records.businessId!, data });
  }
  const before = sandbox.requests.length;
  const oids = new Set<unknown>();
  for await (const { oid } of client.patients()) oids.add(oid);
  expect([...oids]).toEqual([...records.patients.keys()]);
  expect(sandbox.requests.length - before).toBe(Math.ceil(oids.size / 500));
});

it('has the code of an error, in each of the documented shapes', async () => {
  expect(await failureOf(client.transactionStatus({ transaction_id: 'none' }))).toMatchObject({
    name: 'Rejected',
    status: 404,
    code: 'TRANSACTION_ID_NOT_FOUND',
  });
  expect(await failureOf(client.appointment({ id: 'none' }))).toMatchObject({
    name: 'Rejected',
    status: 404,
    code: undefined,
    body: '{"message":"no such record"}',
  });
  await client.createSubscription({ endpoint: 'https://a.example' });
  expect(await failureOf(client.createSubscription({ endpoint: 'https://a.example' }))).toMatchObject({
    name: 'Rejected',
    status: 400,
    code: 'INVALID_REQUEST',
  });
});

it.each(['429', 'limited'])('waits as long as the rate is limited (%s), however often', async (fault) => {
  const pauses: number[] = [];
  const patient = open(`once-${fault}`, { onRetry: (_, pauseMs) => void pauses.push(pauseMs) });
  const { appointments } = await patient.appointmentsPage({
    startDate: days.from,
    endDate: days.from,
    pageNo: 0,
  });
  expect(appointments).toEqual(expect.any(Array));
  expect(pauses).toHaveLength(1);
  if (fault === '429') expect(pauses[0]).toBeGreaterThanOrEqual(1000);

  const brief = open(fault, { rateLimitTimeoutMs: 300, onRetry: (_, pauseMs) => void pauses.push(pauseMs) });
  const error = await failureOf(brief.directory());
  expect(error).toMatchObject({ name: 'Rejected', status: fault === '429' ? 429 : 403 });
  // Without Retry-After the pauses double: 10, 20, … ms.
  expect(pauses.length).toBeGreaterThanOrEqual(fault === '429' ? 1 : 5);
});

it('ends the wait for the rate limit with the reason of the signal', async () => {
  const controller = new AbortController();
  let waits = 0;
  const limited = open('429', { onRetry: () => void waits++ });
  const read = failureOf(limited.directory({ signal: controller.signal }));
  await until(() => waits === 1);
  controller.abort(new Error('enough'));
  expect(await read).toMatchObject({ message: 'enough' });
});

it('reads everything although a part of the reads fails', async () => {
  const faulty = await startSandbox({ records, readFaults: 0.3, slowMs: 5 });
  const retry = { firstPauseMs: 5, maxAttempts: 10 };
  const reader = createServiceClient({ baseUrl: faulty.url, token: sandboxToken, retry });
  const read = new Map<string, Appointment>();
  for await (const appointment of reader.appointments(days))
    read.set(appointment.appointment_id, appointment);
  for (const [id, { status }] of records.appointments) {
    expect(read.get(id)?.status).toBe(status);
  }
  expect(faulty.requests.length).toBeGreaterThan(records.appointments.size / 30 + 3);
  await reader.close();
  await faulty.close();
});

it('names neither the token nor a value of the request in an error', async () => {
  const echoing = open('echo');
  const calls = [
    echoing.appointment({ id: 'secret-appointment' }),
    echoing.transactionStatus({ transaction_id: 'secret-payment' }),
    echoing.appointmentsPage({ patientId: 'secret-patient', pageNo: 0 }),
  ];
  for (const call of calls) {
    const error = (await failureOf(call)) as Error;
    expect(error).toMatchObject({ name: 'Rejected', status: 400 });
    expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(/secret-|sandbox-token|eyJ/);
  }
});
