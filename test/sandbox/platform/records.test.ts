import fc from 'fast-check';
import { families } from '../../../src/sandbox/families.ts';
import { type Callback, history } from '../../../src/sandbox/history.ts';
import { newRecords, recorded } from '../../../src/sandbox/platform/records.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../../src/sandbox/server.ts';

function take(count: number, callbacks: Iterable<Callback>): Callback[] {
  const taken: Callback[] = [];
  for (const callback of callbacks) if (taken.push(callback) >= count) break;
  return taken;
}

it('has each record of one business of a history as its last event says', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const records = newRecords();
      const sent = take(1_000, recorded(history({ seed, families }), records));
      const ours = sent.filter(({ businessId }) => businessId === records.businessId);
      expect(ours.length).toBeLessThan(sent.length);
      const last = (family: string, id: string) =>
        new Map(
          ours.filter((c) => c.family === family).map(({ envelope: { data } }) => [String(data[id]), data]),
        );

      const appointments = last('appointment', 'appointment_id');
      expect([...records.appointments.keys()].sort()).toEqual([...appointments.keys()].sort());
      for (const [id, { status, patient_id, doctor_id, clinic_id, created_at }] of appointments) {
        const expected = { status, patient_id, doctor_id, clinic_id, created_at };
        expect(records.appointments.get(id)).toMatchObject(expected);
      }
      expect([...records.prescriptions.keys()].sort()).toEqual(
        [...last('prescription', 'prescription_id').keys()].sort(),
      );
      for (const [id, data] of last('admission', 'id'))
        expect(records.admissions.get(id)).toMatchObject(data);
      for (const { payment_id } of last('receipt', 'receipt_id').values()) {
        if (payment_id !== null) expect(records.payments.has(String(payment_id))).toBe(true);
      }
    }),
    { numRuns: 10 },
  );
});

describe('the reads', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox({ readFaults: 0 });
  });
  afterAll(() => sandbox.close());

  const headers = { authorization: `Bearer ${sandboxToken}`, auth: sandboxToken };
  const get = (path: string, given: Record<string, string> = headers) =>
    fetch(sandbox.url + path, { headers: given });
  const list = '/dr/v1/appointment';

  it.each([
    ['the older operations', { authorization: headers.authorization }, list],
    ['the newer operations', { auth: headers.auth }, '/appointments/v1/ipd/admission/a'],
  ])('take the token in the header of %s', async (_, given, path) => {
    expect((await get(path, given as Record<string, string>)).status).toBe(401);
  });

  it.each([
    '',
    '?start_date=2026-08-01',
    '?start_date=2026-08-01&end_date=2026-08-09',
    '?start_date=2026-08-02&end_date=2026-08-01',
    '?start_date=2026-8-1&end_date=2026-08-01',
    '?patient_id=p&start_date=2026-08-01&end_date=2026-08-01',
    '?patient_id=p&page_no=-1',
  ])('respond with 400 to the query %p of appointments', async (query) => {
    const response = await get(list + query);
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: { code: 'INVALID_REQUEST', message: expect.any(String) } },
    ]);
  });

  it('take 7 days apart, by the day of the visit in India', async () => {
    const book = (appointment_id: string, created_at: string) => {
      const data = { appointment_id, created_at: Date.parse(created_at) / 1000, patient_id: 'p' };
      sandbox.records.take({ event: 'appointment.created', business_id: 'b', data });
    };
    book('before', '2026-07-31T23:30+05:30');
    book('first', '2026-08-01T00:00+05:30');
    book('last', '2026-08-08T23:40+05:30');
    book('after', '2026-08-09T00:00+05:30');
    const response = await get(`${list}?start_date=2026-08-01&end_date=2026-08-08`);
    const { appointments } = (await response.json()) as { appointments: { appointment_id: string }[] };
    expect(appointments.map((each) => each.appointment_id)).toEqual(['last', 'first']);
  });

  it('need the client id for the patients', async () => {
    const path = '/profiles/v1/patient/minified/';
    expect((await get(path)).status).toBe(400);
    expect((await get(path, { ...headers, 'client-id': 'ours' })).status).toBe(200);
  });
});
