import fc from 'fast-check';
import { type Envelope, type Family, families } from '../../src/families/index.ts';
import { identify } from '../../src/intake/identity.ts';

type FamilyName = (typeof families)[number]['name'];

export const paths = Object.fromEntries(families.map(({ name, path }) => [name, path.default])) as Record<
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
};

export const reviewRequestData = {
  doctor_id: '161467756044203',
  google_review_link: 'https://reviews.invalid/1',
  patient_id: '161467756044204',
  appointment_id: 'd-0b8f7f5e',
  clinic_id: '64a1f0c2e4b0a1b2c3d4e5f8',
};

type Overrides = Partial<Omit<Envelope, 'data'>> & { data?: Record<string, unknown> };

export function receiptCallback({ data, ...envelope }: Overrides = {}) {
  return { event: 'receipt.created', ...common, ...envelope, data: { ...receiptData, ...data } };
}

export function consentFormCallback({ data, ...envelope }: Overrides = {}) {
  return { event: 'mcert.created', ...common, ...envelope, data: { ...consentFormData, ...data } };
}

export function reviewRequestCallback({ data, ...envelope }: Overrides = {}) {
  return { event: 'google_review.request', ...common, ...envelope, data: { ...reviewRequestData, ...data } };
}

/** A callback of each family, with every documented field. */
export const samples: Record<FamilyName, () => { event: string; data: Record<string, unknown> }> = {
  receipt: receiptCallback,
  consent_form: consentFormCallback,
  review_request: reviewRequestCallback,
};

/** A callback as the inbox takes it. */
export function deliveryOf(callback: ReturnType<typeof receiptCallback>) {
  const family = families.find(({ events }: Family) => events.includes(callback.event))?.name ?? 'unlisted';
  return { id: identify(callback), family, body: Buffer.from(JSON.stringify(callback)) };
}

const event = (...names: string[]) => fc.constantFrom(...names);
const fewTimes = fc.integer({ min: 1_700_000_000, max: 1_700_000_002 });

/** Versions of a few receipts and consent forms, with ties in every time that orders them. */
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
      })
      .map(({ event, event_time, business_id, ...data }) =>
        receiptCallback({ event, event_time, business_id, data } as Overrides),
      ),
    fc
      .record({
        event: event('mcert.created', 'mcert.updated'),
        event_time: fewTimes,
        id: fc.constantFrom('a', 'b'),
        url: fc.option(fc.constantFrom('u1', 'u2', 'u3')),
      })
      .map(({ event, event_time, ...data }) => consentFormCallback({ event, event_time, data } as Overrides)),
  ),
  { minLength: 1, maxLength: 24 },
);
