import { families } from '../../../src/receiver/families/index.ts';
import { describe } from '../../../src/receiver/intake/intake.ts';
import { createParse } from '../../../src/receiver/intake/parse.ts';
import { deliveryOf } from '../support/intake.ts';

const eventTime = 1_763_000_000;
const receipt = (data: object, event = 'receipt.updated') =>
  deliveryOf({ event, event_time: eventTime, business_id: 'b', data: { receipt_id: 7, ...data } });
const merged = (data: object, event?: string) => JSON.parse(receipt(data, event).data ?? 'null');

it('data that needs no reading is not stored again', () => {
  expect(receipt({ net_amount: 450.5, mobile: 919900000001, name: null, further: 1 }).data).toBeNull();
  expect(receipt({ net_amount: '450.50', archive: '1', updated_at: '1763000000' }).data).toBeNull();
});

it('a value that does not fit its column is kept under a mark, and the rest is read', () => {
  expect(merged({ net_amount: 'a lot', archive: true, name: { first: 'x' }, amount_paid: 5 })).toEqual({
    receipt_id: 7,
    amount_paid: 5,
    '\u0001net_amount': 'a lot',
    '\u0001archive': true,
    '\u0001name': { first: 'x' },
  });
});

it.each([0, '', '0001-01-01T00:00:00Z', 1000, eventTime + 2 * 86_400, '0'])(
  'a time %p of something done to the record says nothing',
  (created_at) => {
    expect(merged({ created_at })).toEqual({ receipt_id: 7 });
  },
);

it('a null that is said is a value, also of a time', () => {
  expect(receipt({ created_at: null }).data).toBeNull();
});

it('a blank where no text is meant is null, and a text may be blank', () => {
  expect(merged({ net_amount: '', remarks: '' })).toEqual({ receipt_id: 7, net_amount: null, remarks: '' });
});

it('a whole number that fits no bigint, or a fraction, fits no whole number', () => {
  expect(merged({ archive: 1.5 })).toEqual({ receipt_id: 7, '\u0001archive': 1.5 });
  expect(Object.keys(merged({ archive: '9223372036854775808' }))).toContain('\u0001archive');
  expect(receipt({ archive: '9223372036854775807' }).data).toBeNull();
});

it('spaces that PostgreSQL does not take, and times before the year 1, are misfits', () => {
  for (const [name, value] of [
    ...['amount_paid', 'archive', 'net_amount'].map((one) => [one, '\u00a05'] as const),
    ['created_at', '\ufeff1763000000'],
    ['updated_at', -1e15],
  ] as const)
    expect(Object.keys(merged({ [name]: value }))).toContain(`\u0001${name}`);
});

it('a misfit among facts that belong together leaves its column as it was', () => {
  const data = merged({ additional_discount_amount: 5, additional_discount_value: 'five' });
  expect(Object.keys(data)).not.toContain('additional_discount_value');
});

it('in a deletion null says nothing', () => {
  expect(merged({ name: null, net_amount: 5, further: null }, 'receipt.deleted')).toEqual({
    receipt_id: 7,
    net_amount: 5,
  });
});

it('with the first of a fact come the others, and what is lacking of them is null', () => {
  expect(merged({ additional_discount_amount: 5 })).toEqual({
    receipt_id: 7,
    additional_discount_amount: 5,
    additional_discount_type: null,
    additional_discount_value: null,
  });
  expect(receipt({ additional_discount_amount: 5 }, 'receipt.deleted').data).toBeNull();
});

it('a field with another name has its documented one, and what only the envelope says is a field', () => {
  const prescription = deliveryOf({
    event: 'prescription.created',
    event_time: eventTime,
    data: { rx_id: 'p-1', doctor_id: 'd' },
  });
  expect(prescription.recordId).toBe('p-1');
  expect(JSON.parse(prescription.data!)).toEqual({ prescription_id: 'p-1', doctor_id: 'd' });
  const clearance = deliveryOf({
    event: 'ipd_admissions_clearances.created',
    event_time: eventTime,
    transaction_id: 'ipd/b/admissions/a-1/clearances/pharmacy',
    data: { type: 'pharmacy', status: 'done', completed_at: eventTime },
  });
  expect(clearance.recordId).toBe('ipd/b/admissions/a-1/clearances/pharmacy');
  expect(JSON.parse(clearance.data!)).toMatchObject({ admission_id: 'a-1', completed_by: null });
  expect(clearance.subjects).toEqual(['r:admission::a-1']);
});

it('every digit of a number is merged', () => {
  const body = `{"event":"receipt.updated","event_time":${eventTime},"data":{"receipt_id":7,"net_amount":0.1234567890123456789,"archive":""}}`;
  const parsed = createParse(families, ({ name }) => name)(Buffer.from(body));
  expect(describe(parsed, 1).data).toContain('1234567890123456789e-19');
});
