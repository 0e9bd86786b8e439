import { type Envelope, envelopeSchema, type Family, families } from '../../src/families/index.ts';
import {
  consentFormCallback,
  receiptCallback,
  receiptData,
  reviewRequestCallback,
  samples,
} from '../support/callbacks.ts';

const schema = envelopeSchema(families);

it('event discriminates the families, also for the compiler', () => {
  const inspect = (envelope: Envelope): unknown => {
    if (envelope.event === 'receipt.deleted') {
      const id: number | string = envelope.data.receipt_id;
      // @ts-expect-error a receipt has no form
      const form: string = envelope.data.docid;
      return [id, form];
    }
    if (envelope.event === 'mcert.updated') {
      const id: string = envelope.data.id;
      return id;
    }
    if (envelope.event === 'google_review.request') return envelope.data.google_review_link;
    // @ts-expect-error no family has this event
    if (envelope.event === 'receipt.lost') return undefined;
    return envelope.event;
  };
  expect(inspect(schema.parse(receiptCallback({ event: 'receipt.deleted' })))).toEqual([4711, undefined]);
});

it.each(families.map((family: Family) => [family.name, family] as const))(
  'every event of %s is accepted, and its sample has every documented field and no other',
  (name, { events, fields }) => {
    const sample = samples[name as keyof typeof samples]();
    for (const event of events) expect(schema.safeParse({ ...sample, event }).success).toBe(true);
    const inData = Object.keys(fields).filter((field) => !(fields as Family['fields'])[field]!.fromEnvelope);
    expect(Object.keys(sample.data).toSorted()).toEqual(inData.toSorted());
  },
);

it('an event of no family is rejected', () => {
  expect(schema.safeParse({ ...receiptCallback(), event: 'receipt.lost' }).success).toBe(false);
});

it.each(['event', 'event_time', 'data'])('the envelope field %s is required', (field) => {
  const { [field as 'event']: _, ...without } = receiptCallback();
  expect(schema.safeParse(without).success).toBe(false);
  const isNullable = field === 'event_time';
  expect(schema.safeParse({ ...receiptCallback(), [field]: null }).success).toBe(isNullable);
});

it.each(['timestamp', 'client_id', 'business_id'])(
  'the envelope field %s may be missing or null',
  (field) => {
    const { [field as 'event']: _, ...without } = receiptCallback();
    expect(schema.safeParse(without).success).toBe(true);
    expect(schema.safeParse({ ...receiptCallback(), [field]: null }).success).toBe(true);
    expect(schema.safeParse({ ...receiptCallback(), [field]: {} }).success).toBe(false);
  },
);

it('only the fields of data that identify the thing are required', () => {
  expect(schema.safeParse({ ...receiptCallback(), data: { receipt_id: 1 } }).success).toBe(true);
  expect(schema.safeParse({ ...receiptCallback(), data: {} }).success).toBe(false);
  expect(schema.safeParse({ ...consentFormCallback(), data: { id: 'a' } }).success).toBe(true);
  expect(schema.safeParse({ ...consentFormCallback(), data: {} }).success).toBe(false);
  expect(schema.safeParse({ ...reviewRequestCallback(), data: {} }).success).toBe(true);
});

it.each(
  Object.keys(receiptData).filter((name) => !['receipt_id', 'receipt_number', 'flavour'].includes(name)),
)('the receipt field %s may be null or absent, otherwise it has its documented type', (name) => {
  const isValid = (value: unknown) => schema.safeParse(receiptCallback({ data: { [name]: value } })).success;
  expect([isValid(null), isValid(undefined), isValid(receiptData[name as 'aid'])]).toEqual([
    true,
    true,
    true,
  ]);
  const wrong = typeof receiptData[name as 'aid'] === 'string' ? 5 : 'five';
  expect([isValid(wrong), isValid({}), isValid([])]).toEqual([false, false, false]);
});

it('fields of undocumented type accept any value', () => {
  for (const value of [null, undefined, 5, 'five', { a: 1 }, [1]]) {
    expect(
      schema.safeParse(receiptCallback({ data: { receipt_number: value, flavour: value } })).success,
    ).toBe(true);
  }
});
