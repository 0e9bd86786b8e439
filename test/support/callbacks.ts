import fc from 'fast-check';
import { eventsOf } from '../../src/families/family.ts';
import { type Family, families } from '../../src/families/index.ts';
import { milliseconds } from '../../src/families/times.ts';
import { identify } from '../../src/intake/identity.ts';

type FamilyName = (typeof families)[number]['name'];

/** The registered paths, as in Config. */
export const registeredPaths: Record<string, readonly string[]> = Object.fromEntries(
  families.map(({ name, path }) => [name, path.default]),
);

/** A registered path of each family. */
export const paths = Object.fromEntries(families.map(({ name, path }) => [name, path.default[0]])) as Record<
  FamilyName,
  string
>;

const common = {
  event_time: 1_700_000_000,
  timestamp: 1_700_000_001,
  client_id: '64a1f0c2e4b0a1b2c3d4e5f6',
  business_id: '64a1f0c2e4b0a1b2c3d4e5f7',
};

/** A receipt with every documented field (service-interface section 2.2). */
export const receiptData = {
  receipt_id: 4711,
  aid: 'api-0b8f7f5e-6b1f-4c3c-9d55-1f0d7f0f8a11',
  doctor_oid: '161467756044203',
  clinic_id: '64a1f0c2e4b0a1b2c3d4e5f8',
  patient_oid: '161467756044204',
  created_at: 1_700_000_000_123,
  updated_at: 1_700_000_000_456,
  receipt_number: null,
  receipt_url: 'https://files.invalid/r/4711.pdf',
  receipt_status: 'SUCCESS',
  receipt_amount: 500.1,
  additional_discount_value: 10,
  additional_discount_type: 'AMOUNT',
  additional_discount_amount: 10.05,
  net_amount: 490.05,
  name: 'आशा राव',
  mobile: '+919900000001',
  flavour: null,
  sku_discount_amount: 0,
  amount_due: 90.05,
  archive: 0,
  remarks: '',
  ref_trx_id: '',
  payment_id: 'pay_1',
  payment_link: 'https://pay.invalid/1',
  amount_paid: 400,
  actor: 'doctor',
};

export const consentFormData = {
  docid: '161467756044203',
  id: 'mc-1',
  owner: '64a1f0c2e4b0a1b2c3d4e5f7',
  patientid: '161467756044204',
  sendurlpdf: 'https://files.invalid/s/1.pdf',
  url: 'https://files.invalid/u/1.pdf',
  type: 'mcert',
};

export const reviewRequestData = {
  doctor_id: '161467756044203',
  google_review_link: 'https://reviews.invalid/1',
  patient_id: '161467756044204',
  appointment_id: 'd-0b8f7f5e',
  clinic_id: '64a1f0c2e4b0a1b2c3d4e5f8',
};

const people = {
  doctor_id: '161467756044203',
  partner_doctor_id: 'doc-1',
  patient_id: '161467756044204',
  partner_patient_id: 'pat-1',
  clinic_id: '64a1f0c2e4b0a1b2c3d4e5f8',
  partner_clinic_id: 'clinic-1',
};
const { partner_doctor_id: _, partner_patient_id: __, partner_clinic_id: ___, ...ids } = people;
const times = { created_at: 1_700_000_000, modified_at: 1_700_000_060 };
const appointment_id = 'api-0b8f7f5e-6b1f-4c3c-9d55-1f0d7f0f8a11';

/** An appointment with every documented field. */
export const appointmentData = {
  appointment_id,
  partner_appointment_id: 'apt-1',
  ...people,
  status: 'BK',
  action: 'created',
  ...times,
  custom_attributes: { label: ['new'] },
  partner_meta: {},
  sa_ids: ['sa-1'],
  workflow_data: { 'sa-1': 'result-1' },
  prev_aids: ['api-earlier'],
  next_aid: 'api-later',
};

const admissionData = {
  id: 'adm-1',
  ipid: 'IP-1',
  pid: '161467756044204',
  bid: '64a1f0c2e4b0a1b2c3d4e5f7',
  docid: '161467756044203',
  facilityid: '64a1f0c2e4b0a1b2c3d4e5f8',
  stage: 'ADMITTED',
  status: 'ACTIVE',
  admission_date: '2026-06-30 07:25:18.779000+00:00',
  totalbilled: 12500.5,
  totalpaid: 5000,
  category: 'general',
  department: { name: 'Surgery' },
  bed: { number: '12', ward: { name: 'A' } },
  doc: { name: 'Dr Rao' },
  facility: { name: 'Main' },
  patient: { name: 'आशा राव', phone: '+919900000001', gender: 'F' },
  attendee: { name: 'Ravi' },
  insurance: { payer: 'none' },
  medico_legal_case: { is_mlc: false },
  procedures: [{ name: 'Appendectomy' }],
  rateplan: { name: 'cash' },
  refer: { by: 'self' },
  duration: { days: 3 },
  created_at: '2026-06-30 07:25:18.779000+00:00',
  updated_at: '2026-06-30 08:25:18.779000+00:00',
};

const account = {
  abha_address: 'asha@abdm',
  hip_id: 'hip-1',
  oid: people.patient_id,
  partner_patient_id: people.partner_patient_id,
};

const staff = { id: 'u-1', name: 'Nurse One' };

type Overrides = { event?: string; data?: object } & { [field in keyof typeof common]?: unknown } & {
  transaction_id?: string;
};

/** A callback as the interface documents it. */
export type Callback = typeof common & { event: string; data: Record<string, unknown> };

const callbackOf =
  <Data extends object>(event: string, ofFamily: Data, around: object = {}) =>
  ({ data, ...envelope }: Overrides = {}) =>
    ({
      event,
      ...common,
      ...around,
      ...laterThan(data),
      ...envelope,
      data: { ...ofFamily, ...data },
    }) as typeof common & { event: string; data: Data };

/** A time that is more than a day after its event says nothing: so the event is that of the last one which it tells of. */
function laterThan(data: object = {}): { event_time?: number } {
  const times = Object.entries(data).flatMap(([name, value]) =>
    /^(created|updated|modified|completed)_at$|^(admission_date|at)$/.test(name)
      ? [milliseconds(value as number | string)]
      : [],
  );
  const latest = Math.max(0, ...times.filter((ms) => ms <= Date.now() + 86_400_000));
  return latest > (common.event_time + 86_400) * 1000 ? { event_time: Math.floor(latest / 1000) } : {};
}

export const receiptCallback = callbackOf('receipt.created', receiptData);
export const consentFormCallback = callbackOf('mcert.created', consentFormData);
export const reviewRequestCallback = callbackOf('google_review.request', reviewRequestData);
export const appointmentCallback = callbackOf('appointment.created', appointmentData);

const transaction = (part: string) => ({ transaction_id: `ipd/b/admissions/adm-1/${part}` });

/** A callback of each family, with every documented field. */
export const samples: Record<FamilyName, (overrides?: Overrides) => Callback> = {
  receipt: receiptCallback,
  consent_form: consentFormCallback,
  review_request: reviewRequestCallback,
  appointment: appointmentCallback,
  prescription: callbackOf('prescription.created', {
    prescription_id: 'rx-1',
    ...people,
    partner_appointment_id: 'apt-1',
    current_version: 'v2',
    previous_version: 'v1',
    prescription_url: 'https://files.invalid/p/1.pdf',
    prescription_url_print: 'https://files.invalid/p/1-print.pdf',
    action: 'created',
    ...times,
    partner_meta: {},
  }),
  payment_request: callbackOf('receipt_payment.requested', {
    appointment_id,
    doctor_id: people.doctor_id,
    patient_id: people.patient_id,
    net_amount: 490.05,
    url: 'https://pay.invalid/1',
  }),
  practice_change: callbackOf('schedule.start_practice', {
    doctor_id: people.doctor_id,
    partner_doctor_id: people.partner_doctor_id,
    clinic_id: people.clinic_id,
    partner_clinic_id: people.partner_clinic_id,
    ...times,
    partner_meta: {},
  }),
  // After what it tells of.
  admission: callbackOf('ipd_admissions.created', admissionData, { event_time: 1_782_808_000 }),
  admission_event: callbackOf(
    'ipd_admissions_events.created',
    { id: 'ev-1', kind: 'moved', at: 1_700_000_000, by: staff, clearance_type: 'billing', to: 'ward B' },
    transaction('events/ev-1'),
  ),
  admission_clearance: callbackOf(
    'ipd_admissions_clearances.created',
    {
      type: 'billing',
      status: 'pending',
      completed_at: 1_700_000_000,
      completed_by: staff,
      updated_at: 1_700_000_000,
    },
    transaction('clearances/billing'),
  ),
  admission_estimate: callbackOf(
    'ipd_admissions_estimates.created',
    {
      id: 'est-1',
      name: 'Room',
      service_id: 's-1',
      quantity: 3,
      rate: 1500.5,
      discount: { category: 'amount', value: 100 },
      remarks: '',
      date: 1_700_000_000,
      added_by: staff,
      created_at: 1_700_000_000,
      updated_at: 1_700_000_000,
    },
    transaction('estimates/est-1'),
  ),
  notice: callbackOf('prescription.communication', {
    appointment_id,
    ...ids,
    prescription_id: 'rx-1',
    prescription_url: 'https://files.invalid/p/1.pdf',
    doc_name: { salutation: 'Dr', first_name: 'Asha', last_name: 'Rao' },
    doctor_name: 'Dr Asha Rao',
    patient_name: { first_name: 'Ravi', last_name: 'Kumar' },
    actor_oid: '161467756044203',
    booking_link: 'https://book.invalid/1',
    due_date: '2026-11-30',
    vaccines: 'MMR',
    video_connect: { host_link: 'https://meet.invalid/h', meet_link: 'https://meet.invalid/m', vendor: 'v' },
  }),
  health_account: callbackOf('abha.hip_profile_share', {
    ...account,
    abha_number: '91-1234-5678-9012',
    hip_code: 'counter-1',
    req_id: 'req-1',
  }),
  care_context: callbackOf('abha.link_care_context', {
    ...account,
    care_context_id: 'cc-1',
    status: 'LINKED',
    error: null,
    retry_count: 0,
  }),
  booking: callbackOf('booking.confirm', {
    order_id: 'order-1',
    state: 'CONFIRMED',
    slot: { start: '2026-11-30T09:00:00Z' },
    doctor: { name: 'Dr Asha Rao' },
    billing: { name: 'आशा राव', phone: '+919900000001', email: 'a@example.invalid', address: 'Street 1' },
    patient: { id: '161467756044204', dob: '1990-01-01', gender: 'F' },
  }),
  other: callbackOf('user.data.download', {}),
};

/** The delivery of a callback. */
export function deliveryOf(callback: Callback) {
  const family = (families as readonly Family[]).find((each) => eventsOf(each).includes(callback.event));
  return {
    id: identify(callback, family),
    family: family?.name ?? 'other',
    body: Buffer.from(JSON.stringify(callback)),
  };
}

const event = (...names: string[]) => fc.constantFrom(...names);
/** Half of them lack some of these fields. */
const absent = fc.oneof(
  fc.constant([]),
  fc.subarray([
    'created_at',
    'updated_at',
    'name',
    'clinic_id',
    'net_amount',
    'amount_paid',
    'amount_due',
    'url',
    'type',
  ]),
);
/** A callback that lacks these fields. */
const without = (names: readonly string[], { data, ...envelope }: Callback): Callback => ({
  ...envelope,
  data: Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name))),
});
const fewTimes = fc.integer({ min: 1_700_000_000, max: 1_700_000_002 });

/** Versions of a few receipts and consent forms, many lean or oddly timed, with ties in all their times. */
export const history = fc.array(
  fc.oneof(
    fc
      .record({
        event: event('receipt.created', 'receipt.updated', 'receipt.deleted'),
        event_time: fewTimes,
        receipt_id: fc.integer({ min: 1, max: 3 }),
        updated_at: fc.oneof(
          fewTimes.map((seconds) => seconds * 1000),
          fc.constantFrom(null, undefined),
        ),
        net_amount: fc.option(fc.integer({ min: 0, max: 99 }).map((paise) => paise / 100)),
        business_id: fc.constantFrom('b1', 'b2'),
        created_at: fc.constantFrom(receiptData.created_at, 0, '0001-01-01T00:00:00Z', null, 1_700_000_001),
        absent,
      })
      .map(({ event, event_time, business_id, absent, ...data }) =>
        without(absent, receiptCallback({ event, event_time, business_id, data } as Overrides)),
      ),
    fc
      .record({
        event: event('mcert.created', 'mcert.updated'),
        event_time: fewTimes,
        id: fc.constantFrom('a', 'b'),
        url: fc.option(fc.constantFrom('u1', 'u2', 'u3')),
        absent,
      })
      .map(({ event, event_time, absent, ...data }) =>
        without(absent, consentFormCallback({ event, event_time, data } as Overrides)),
      ),
  ),
  { minLength: 1, maxLength: 24 },
);
