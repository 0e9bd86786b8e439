import fc from 'fast-check';
import { classOf, defineFamily, type Family } from '../../src/callbacks/families/family.ts';
import { actionTime } from '../../src/callbacks/families/field.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { versionOf, versionWith } from '../../src/callbacks/identify.ts';
import { createReadCallback } from '../../src/callbacks/read-callback.ts';
import { deliveryOf } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';

const database = useReceiverDatabase();
const readCallback = createReadCallback(families);

const ms = fc.integer({ min: 946_684_800_000, max: 4_000_000_000_000 });
const near = fc
  .tuple(fc.integer({ min: 1_763_000_000, max: 1_763_000_003 }), fc.constantFrom(0, 1, 500, 999))
  .map(([s, rest]) => s * 1000 + rest);
const time = fc.oneof(near, ms);
const classes = ['reconciled', 'created', 'updated', 'deleted'] as const;
const versioned = fc.record({
  eventMs: time,
  event: fc.constantFrom(...classes),
  changeMs: fc.option(time, { nil: undefined }),
  timestampMs: fc.oneof(fc.constant(0), time),
  receivedAt: time.map((value) => value * 1000),
  id: fc.uuid({ version: 8 }),
});
type Versioned = typeof versioned extends fc.Arbitrary<infer T> ? T : never;
const parts = ['eventMs', 'event', 'changeMs', 'timestampMs', 'receivedAt'] as const;

/** A family whose events are called as their classes. */
const family = defineFamily({
  name: 'any',
  events: Object.fromEntries(classes.map((name) => [name, name])),
  path: { default: ['/any'] },
  table: 'any',
  changeTime: 'changed_at',
  fields: { changed_at: actionTime },
});
const versionOfDrawn = ({ eventMs, event, changeMs, timestampMs, receivedAt, id }: Versioned) => {
  const callback = { event, event_time: eventMs, timestamp: timestampMs, data: { changed_at: changeMs } };
  return versionOf(callback, family, { eventMs, receivedAt, id });
};

const second = (timeMs: number) => Math.floor(timeMs / 1000);
/** The order as the design says it. */
function compare(a: Versioned, b: Versioned): number {
  const change = ({ event, changeMs, eventMs }: Versioned) => {
    if (changeMs !== undefined && changeMs <= eventMs + 86_400_000) return changeMs;
    return event === 'deleted' ? Number.POSITIVE_INFINITY : eventMs;
  };
  const keys = (version: Versioned) => [
    second(version.eventMs),
    second(change(version)),
    classes.indexOf(version.event),
    change(version),
    version.eventMs,
    version.timestampMs,
    version.receivedAt,
  ];
  const [first, other] = [keys(a), keys(b)];
  const at = first.findIndex((key, index) => key !== other[index]);
  if (at >= 0) return first[at]! < other[at]! ? -1 : 1;
  // The end of the id.
  const [end, otherEnd] = [a.id.slice(24), b.id.slice(24)];
  return end === otherEnd ? 0 : end < otherEnd ? -1 : 1;
}

it('versions sort bytewise as the order says: a total order', () => {
  fc.assert(
    // Also of two that are equal but for some of it.
    fc.property(versioned, versioned, fc.subarray([...parts]), (a, other, equal) => {
      const b = { ...other, ...Object.fromEntries(equal.map((name) => [name, a[name]])) };
      const [first, last] = [versionOfDrawn(a), versionOfDrawn(b)];
      expect(first < last ? -1 : first > last ? 1 : 0).toBe(compare(a, b));
      expect(versionWith(first, b.id)).toBe(versionOfDrawn({ ...a, id: b.id }));
    }),
    { numRuns: 2_000 },
  );
});

const recordOf = (event: string, data: object) =>
  deliveryOf({ event, event_time: 1_763_000_000, data }).recordId;

it.each([
  ['7', 'receipt.created', { receipt_id: 7 }],
  ['7', 'receipt.created', { receipt_id: '07' }],
  ['9223372036854775807', 'receipt.created', { receipt_id: '9223372036854775807' }],
  ['7', 'mcert.created', { id: 7 }],
  ['10000000000000000000', 'mcert.created', { id: 1e19 }],
])('the record is %s for %s with %j', (recordId, event, data) => {
  expect(recordOf(event, data)).toBe(recordId);
});

it.each([
  ...['9223372036854775808', 1e19, 'seven', 1.5, null, true].map((receipt_id) => ['receipt', { receipt_id }]),
  ...['', 'x'.repeat(201), 1.5, null, true, {}].map((id) => ['mcert', { id }]),
] as [string, object][])('a %s with %j is refused', (name, data) => {
  expect(() => recordOf(`${name}.created`, data)).toThrow('not a valid callback');
});

it('a resend with another timestamp is the same delivery; without an own id, the transaction counts', () => {
  const of = (envelope: object, event: string, data: object) =>
    deliveryOf({ event, event_time: 1_763_000_000, ...envelope, data }).id;
  const receipt = (envelope: object) => of(envelope, 'receipt.updated', { receipt_id: 1 });
  expect(receipt({ timestamp: 1 })).toBe(receipt({ timestamp: 2, client_id: '' }));
  expect(receipt({ transaction_id: 'a' })).toBe(receipt({ transaction_id: 'b' }));
  const reminder = (envelope: object) => of(envelope, 'vaccination.reminder', { patient_id: '1' });
  expect(reminder({ partition_id: 'a' })).not.toBe(reminder({ partition_id: 'b' }));
  const estimate = (envelope: object) => of(envelope, 'ipd_admissions_estimates.created', { id: '1' });
  expect(estimate({ transaction_id: 'a' })).not.toBe(estimate({ transaction_id: 'b' }));
  expect(receipt({ business_id: 0 })).not.toBe(receipt({}));
  const unknown = (envelope: object) => of(envelope, 'rec.uploaded', {});
  expect(unknown({ transaction_id: 'a' })).not.toBe(unknown({ transaction_id: 'b' }));
});

it('the id, record, version and subjects of a stored body are those of the raw body', async () => {
  const number = fc.constantFrom(
    '1',
    '1.0',
    '1e2',
    '-0',
    '0.1234567890123456789',
    '100000000000000000001',
    '12.50',
  );
  const text = fc
    .string({ unit: 'grapheme', maxLength: 8 })
    .filter((value) => !value.includes('\0') && value.isWellFormed());
  const value = fc.oneof(
    number,
    text.map((value) => JSON.stringify(value)),
    fc.constantFrom('null', 'true', '{}', '[1, "a"]', '{"b":1,"a":{"pid":5}}'),
  );
  const key = fc.oneof(
    fc.constantFrom('net_amount', 'name', 'patient_oid', 'aid', 'updated_at', 'é', 'Z', '1'),
    text,
  );
  const data = fc.array(fc.tuple(key, value), { maxLength: 8 });
  const event = fc.constantFrom('receipt.updated', 'receipt.deleted', 'x.unknown', 'google_review.request');
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(event, data), { minLength: 5, maxLength: 20 }), async (callbacks) => {
      const bodies = callbacks.map(
        ([name, members]) =>
          `{ "event":"${name}", "event_time":1763000000,"business_id":"b","transaction_id":"t",
             "data":{"receipt_id": 07`.replace('07', '7') +
          members.map(([member, json]) => `,${JSON.stringify(member)}:${json}`).join('') +
          '}}',
      );
      const stored = await database.rows(
        'select b::jsonb::text as body from unnest($1::text[]) with ordinality as t(b, n) order by n',
        [bodies],
      );
      const read = (body: string) => {
        // Lists of names, without an order.
        const { delivery } = readCallback(Buffer.from(body), { expected: other, receivedAt: 1 });
        return { ...delivery, data: null, body: null, subjects: delivery.subjects.toSorted() };
      };
      expect(stored.map(({ body }) => read(body as string))).toEqual(bodies.map(read));
    }),
    { numRuns: 60 },
  );
});
const other = (families as readonly Family[]).find(({ name }) => name === 'other')!;

it('an event that no family lists, also one named like a property of objects, is an update', () => {
  expect(classOf(other, 'constructor')).toBe('updated');
  expect(deliveryOf({ event: 'constructor', event_time: 1_763_000_000, data: {} }).family).toBe('other');
});
