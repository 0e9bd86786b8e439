import { families } from '../../src/callbacks/families/index.ts';
import { createReadCallback } from '../../src/callbacks/read-callback.ts';
import { InvalidCallback } from '../../src/callbacks/rejection.ts';
import { deliveryOf } from '../support/intake.ts';

const readCallback = createReadCallback(families);
const eventTime = 1_763_000_000;
const receipt = (data: object, event = 'receipt.updated') =>
  deliveryOf({ event, event_time: eventTime, business_id: 'b', data: { receipt_id: 7, ...data } });
const merged = (data: object, event?: string) => JSON.parse(receipt(data, event).data ?? 'null');

it('a refusal names each place, and no value', () => {
  const errorsOf = (callback: object) => {
    try {
      return deliveryOf(callback);
    } catch (error) {
      return (error as InvalidCallback).errors.map(({ path, message }) => `${path} ${message}`);
    }
  };
  expect(errorsOf({})).toEqual(['/event is required']);
  const faults = { event_time: ['secret'], client_id: { a: 'secret' }, data: { receipt_id: 'secret' } };
  expect(errorsOf({ event: 'receipt.created', ...faults })).toEqual([
    expect.stringMatching('^/event_time must be a time'),
    '/client_id must be text of at most 200 characters',
    expect.stringMatching('^/data/receipt_id must be a whole number'),
  ]);
  expect(errorsOf({ event: 'receipt.created', event_time: eventTime, data: {} })).toEqual([
    '/data/receipt_id is required',
  ]);
});

it('a planned time may be ahead of the event, and says nothing where it is empty', () => {
  const admission = (admission_date: unknown) =>
    deliveryOf({ event: 'ipd_admissions.created', event_time: eventTime, data: { id: 'a', admission_date } })
      .data;
  expect(admission(eventTime + 30 * 86_400)).toBeNull();
  for (const empty of [0, '', 1_000]) expect(JSON.parse(admission(empty)!)).toEqual({ id: 'a' });
});

it('a time with a space for the T, or with microseconds, is read as it is', () => {
  const value = '2023-11-14 07:25:18.779000+00:00';
  const data = { event: 'receipt.updated', event_time: value, data: { receipt_id: 7, updated_at: value } };
  expect(deliveryOf(data)).toMatchObject({ eventMs: Date.UTC(2023, 10, 14, 7, 25, 18, 779), data: null });
});

it('what is no time is no public value either', () => {
  const data = { receipt_id: 7, created_at: '2026-11-26T14:34:05Z[Asha Rao 98765]' };
  expect(merged(data)).toEqual({ receipt_id: 7, '\u0001created_at': data.created_at });
});

it('a whole number that fits no bigint, or a fraction, fits no whole number', () => {
  expect(merged({ archive: 1.5 })).toEqual({ receipt_id: 7, '\u0001archive': 1.5 });
  expect(Object.keys(merged({ archive: '9223372036854775808' }))).toContain('\u0001archive');
  expect(receipt({ archive: '9223372036854775807' }).data).toBeNull();
});

it('a member __proto__ is refused, and a key of every object is a key like others', () => {
  const body = (data: string, more = '') =>
    `{"event":"receipt.updated","event_time":${eventTime}${more},"data":{"receipt_id":7${data}}}`;
  for (const json of [body(',"__proto__":{"patient_oid":"p"}'), body('', ',"__proto__":{"patient_oid":"p"}')])
    expect(() => deliveryOf(json)).toThrow(InvalidCallback);
  expect(JSON.parse(deliveryOf(body(',"constructor":5,"toString":null,"net_amount":""')).data!)).toEqual({
    receipt_id: 7,
    net_amount: null,
    constructor: 5,
    toString: null,
  });
});

it('spaces that PostgreSQL does not take do not fit', () => {
  for (const [name, value] of [
    ...['amount_paid', 'archive', 'net_amount'].map((name) => [name, '\u00a05'] as const),
    ['created_at', '\ufeff1763000000'],
  ] as const)
    expect(Object.keys(merged({ [name]: value }))).toContain(`\u0001${name}`);
});

it.each([
  ['1899-12-31T23:59:59Z', false],
  ['0000-01-01T00:00:00Z', false],
  [-1e15, false],
  ['3000-01-01T00:00:00Z', false],
  [1e15, false],
  ['1900-01-01T00:00:00Z', true],
  ['2999-12-31T23:59:59.999Z', true],
  ['2026-11-26T14:34:05+15:59', true],
  ['2026-11-26T14:34:05+16:00', false],
  ['', true],
])(
  'a time of a field fits in the years 1900 to 2999, with an offset that PostgreSQL takes: %s %s',
  (start_time, fits) => {
    const data = { appointment_id: 'a', start_time };
    const { data: read } = deliveryOf({ event: 'appointment.created', event_time: eventTime, data });
    expect(read?.includes('\\u0001start_time') ?? false).toBe(!fits);
  },
);

it('a field with another name has its documented one, and a field may be read from the envelope', () => {
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

it('an amount over 10^12, or of many digits, and a container where a scalar is meant, do not fit', () => {
  for (const net_amount of [1e30, -1e13, '9'.repeat(30), `0.${'1'.repeat(70)}`])
    expect(merged({ net_amount })).toEqual({ receipt_id: 7, '\u0001net_amount': net_amount });
  expect(
    receipt({ net_amount: 1e12, amount_due: 5.6e-17, amount_paid: '-1000000000000.00' }).data,
  ).toBeNull();
  for (const receipt_number of [{ name: 'Asha' }, ['Asha']])
    expect(merged({ receipt_number })).toEqual({ receipt_id: 7, '\u0001receipt_number': receipt_number });
  // One that may be personal anyway.
  expect(receipt({ receipt_number: 7, flavour: { a: 1 } }).data).toBeNull();
});

it('a number that a double cannot represent is read wherever a number is', () => {
  const long = '12345678901234567890';
  const body = `{"event":"ipd_admissions_clearances.updated","event_time":${eventTime}.123456789,"timestamp":${eventTime}.123456789,
    "business_id":${long},"client_id":1${long},"transaction_id":${long},"data":{"updated_at":${eventTime}.987654321}}`;
  const { delivery, unfitFields } = readCallback(Buffer.from(body), { receivedAt: 1 });
  expect(delivery).toMatchObject({ businessId: long, clientId: `1${long}`, recordId: long });
  expect(unfitFields).toEqual([]);
  expect(delivery.eventMs).toBe(eventTime * 1000 + 123);
  expect(JSON.parse(delivery.data!).transaction_id).toBe(long);
});
