import fc from 'fast-check';
import { documentedEvents, type Family, families } from '../../src/sandbox/families.ts';
import type { Callback } from '../../src/sandbox/history.ts';
import { callbacks } from '../../src/sandbox/variations.ts';
import { documentedFields, hasType } from './documented-fields.ts';

const take = (options: Parameters<typeof callbacks>[0]): Callback[] => [
  ...callbacks({ families, ...options }),
];
const seed = fc.integer();
/** What makes a callback the same as another one; only clearances are told apart by their transaction. */
function identity({ family, envelope: { timestamp: _, transaction_id, ...rest } }: Callback) {
  return JSON.stringify([rest, family === 'admission_clearance' && transaction_id]);
}

const sequence = take({ seed: 11, count: 15_000 });
const dataOf = (event: string) => sequence.filter((c) => c.event === event).map((c) => c.envelope.data);

it('has no two callbacks with the same identity', () => {
  fc.assert(
    fc.property(seed, (seed) => {
      expect(new Set(take({ seed, count: 3_000 }).map(identity)).size).toBe(3_000);
      // The doctors of one clinic often change their practice within the same second.
      const changes = take({ seed, count: 3_000, families: ['practice_change'], businessIds: ['one'] });
      expect(new Set(changes.map(identity)).size).toBe(3_000);
    }),
    { numRuns: 10 },
  );
});

it('is the same for the same options, and says the same in every spelling', () => {
  fc.assert(
    fc.property(seed, (seed) => {
      const options = { seed, count: 200, shuffle: true, duplicates: 0.1 };
      const [contract, platform, mixed, again] = (['contract', 'platform', 'mixed', 'mixed'] as const).map(
        (spelling) => take({ ...options, spelling }),
      );
      expect(again).toEqual(mixed);
      const envelopes = (list: Callback[]) => list.map((c) => c.envelope);
      expect(envelopes(platform!)).toEqual(envelopes(contract!));
      expect(envelopes(mixed!)).toEqual(envelopes(contract!));
    }),
    { numRuns: 10 },
  );
});

it.each([...families])('has callbacks of the family %s alone', (family: Family) => {
  const alone = take({ seed: 1, count: 100, families: [family] });
  const events = documentedEvents.filter((e) => e.family === family).map((e) => e.event);
  expect(alone).toHaveLength(100);
  expect(events).toEqual(expect.arrayContaining(alone.map((c) => c.event)));
});

it('knows the documented events; those of a new family are listed in documented-fields.ts', () => {
  expect(documentedEvents.map((e) => e.event).sort()).toEqual(
    documentedFields.map(([event]) => event).sort(),
  );
});

it.each(documentedFields)('%s occurs, with every documented field in its type', (event, fields) => {
  const all = dataOf(event);
  expect(all.length).toBeGreaterThan(50);
  for (const { name, type, optional } of fields) {
    const present = all.filter((data) => name in data);
    expect([name, present.filter((data) => !hasType(data[name], type))]).toEqual([name, []]);
    if (!optional) expect([name, present.length]).toEqual([name, all.length]);
    else expect([name, present.length > 0, present.length < all.length]).toEqual([name, true, true]);
  }
});

it('shows every documented status of an appointment, and both types of a consent form', () => {
  const values = (event: string, field: string) => new Set(dataOf(event).map((data) => data[field]));
  expect(values('appointment.statuschange', 'status')).toEqual(
    new Set('CK IN PA OG CM CMNP AB NS NSD NSS CN CND CNS PC PNR RE RES RED'.split(' ')),
  );
  expect(values('appointment.created', 'status')).toEqual(new Set(['BK', 'RV']));
  expect(values('mcert.created', 'type')).toEqual(new Set(['mcert', 'consent']));
});

it('names a patient of an admission with phone, gender and birth date', () => {
  const patients = dataOf('ipd_admissions.created').flatMap(({ patient }) => patient ?? []);
  expect(patients[0]).toEqual({
    name: expect.any(String),
    phone: expect.stringMatching(/^\+91\d{10}$/),
    gender: expect.stringMatching(/^[MFO]$/),
    dob: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
  });
});

it('names in everything about a visit an appointment that was created before, with its patient and doctor', () => {
  const booked = new Map<unknown, Record<string, unknown>>();
  const naming = new Map<string, number>();
  for (const { event, envelope } of sequence) {
    const { aid, appointment_id = aid, ...data } = envelope.data;
    if (event === 'appointment.created') booked.set(appointment_id, { ...data, ...envelope });
    if (appointment_id === undefined) continue;
    naming.set(event, (naming.get(event) ?? 0) + 1);
    expect(booked.get(appointment_id)).toMatchObject({
      business_id: envelope.business_id,
      patient_id: data.patient_id ?? data.patient_oid,
      doctor_id: data.doctor_id ?? data.doctor_oid,
      clinic_id: data.clinic_id ?? expect.any(String),
    });
  }
  expect([...naming.keys()].sort()).toEqual(
    [
      'appointment.assessments.taken',
      'appointment.created',
      'appointment.followup_reminder_instant',
      'appointment.reminder_instant',
      'appointment.statuschange',
      'appointment.tele.dr_joined',
      'appointment.updated',
      'google_review.request',
      'google_review.request_manual',
      'prescription.communication',
      'receipt.created',
      'receipt.deleted',
      'receipt.updated',
      'receipt_payment.requested',
    ].sort(),
  );
});

it('replaces each rescheduled appointment by one of the same patient and doctor, which names it', () => {
  const rescheduled = new Map<unknown, Record<string, unknown>>();
  for (const data of dataOf('appointment.statuschange'))
    if (/^RE/.test(String(data.status))) rescheduled.set(data.appointment_id, data);
  const replacing = dataOf('appointment.created').filter(({ prev_aids }) => prev_aids !== undefined);
  for (const { prev_aids, appointment_id, patient_id, doctor_id, clinic_id } of replacing) {
    const [id] = prev_aids as string[];
    const { next_aid = appointment_id, ...earlier } = rescheduled.get(id)!;
    expect(next_aid).toBe(appointment_id);
    expect(earlier).toMatchObject({ patient_id, doctor_id, clinic_id });
  }
  expect(replacing.length).toBeGreaterThan(50);
  // Those whose new appointment is not booked yet when the sequence ends.
  expect(rescheduled.size - replacing.length).toBeLessThan(20);
});

it('requests payments of what a receipt of the appointment leaves due', () => {
  const due = new Set<string>();
  for (const { event, envelope } of sequence) {
    const { aid, amount_due, appointment_id, net_amount } = envelope.data;
    if (event === 'receipt.created') due.add(`${aid} ${amount_due}`);
    if (event === 'receipt_payment.requested') expect(due).toContain(`${appointment_id} ${net_amount}`);
  }
});

it('updates and sends only prescriptions that were created, of an appointment that was booked', () => {
  const written = new Map<unknown, unknown>();
  const partners = new Set(dataOf('appointment.created').map((data) => data.partner_appointment_id));
  for (const { event, envelope } of sequence) {
    const { prescription_id, patient_id, partner_appointment_id } = envelope.data;
    if (prescription_id === undefined) continue;
    if (event === 'prescription.created') written.set(prescription_id, patient_id);
    expect(written.get(prescription_id)).toBe(patient_id);
    if (partner_appointment_id !== undefined) expect(partners).toContain(partner_appointment_id);
  }
});

it('names in every event, clearance and estimate an admission that was created before', () => {
  const admitted = new Set<string>();
  for (const { event, family, envelope } of sequence) {
    const { business_id, transaction_id, data } = envelope;
    if (event === 'ipd_admissions.created') admitted.add(`ipd/${business_id}/admissions/${data.id}`);
    if (!family.startsWith('admission_')) continue;
    const [, admission, part, id] = /^(.+)\/(events|clearances|estimates)\/([^/]+)$/.exec(transaction_id!)!;
    expect(admitted).toContain(admission);
    expect(part).toBe(event.split(/[_.]/)[2]);
    expect(id).toBe(data.id ?? data.type);
  }
});

it('gives the versions of an appointment and of a prescription an order', () => {
  const newest = new Map<unknown, number>();
  for (const { family, envelope } of sequence) {
    if (family !== 'appointment' && family !== 'prescription') continue;
    const id = envelope.data.prescription_id ?? envelope.data.appointment_id;
    const modifiedAt = envelope.data.modified_at as number;
    expect(modifiedAt).toBeGreaterThan(newest.get(id) ?? 0);
    newest.set(id, modifiedAt);
  }
});
