import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { canonicalJson } from '../../src/inbox/canonical-json.ts';
import { identify } from '../../src/inbox/identity.ts';
import { receiptCallback } from '../support/callbacks.ts';

const shuffledKeys = (value: unknown, seed: number): unknown => {
  if (Array.isArray(value)) return value.map((inner) => shuffledKeys(inner, seed));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, shuffledKeys(inner, seed)] as const);
  const rank = (key: string) => createHash('md5').update(`${seed}${key}`).digest('hex');
  return Object.fromEntries(entries.toSorted(([a], [b]) => rank(a).localeCompare(rank(b))));
};

it('canonical JSON does not depend on the order of keys, and parses to the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(), (value, seed) => {
      const json = JSON.parse(JSON.stringify(value));
      expect(canonicalJson(shuffledKeys(json, seed))).toBe(canonicalJson(json));
      expect(JSON.parse(canonicalJson(json))).toEqual(json);
    }),
  );
});

it('canonical JSON is that of RFC 8785, section 3.2', () => {
  const input = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;
  expect(canonicalJson(JSON.parse(input))).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
  const keys = { '\u20ac': 5, '\r': 1, '\ufb33': 7, '1': 2, '\ud83d\ude00': 6, '\u0080': 3, '\u00f6': 4 };
  expect(Object.values(JSON.parse(canonicalJson(keys)))).toHaveLength(7);
  expect([...canonicalJson(keys).matchAll(/:(\d)/g)].map(([, n]) => n).join('')).toBe('1234567');
});

it('a delivery keeps its id when it is sent again with another timestamp, and no other change keeps it', () => {
  const callback = receiptCallback();
  const id = identify(callback);
  expect(identify({ ...callback, timestamp: 1 } as never)).toBe(id);
  const others = [
    receiptCallback({ event: 'receipt.updated' }),
    receiptCallback({ event_time: callback.event_time + 1 }),
    receiptCallback({ client_id: 'other' }),
    receiptCallback({ business_id: 'other' }),
    receiptCallback({ data: { net_amount: 490.06 } }),
    receiptCallback({ data: { unknown: null } }),
  ];
  expect(new Set([id, ...others.map(identify)]).size).toBe(others.length + 1);
});

it('ids are UUIDs of version 8 that begin with the event time, in seconds or milliseconds alike', () => {
  const time = fc.oneof(
    fc.integer({ min: 0, max: 4e9 }),
    fc.integer({ min: 1e11 + 1, max: 253402300799999 }),
  );
  fc.assert(
    fc.property(time, (event_time) => {
      const id = identify(receiptCallback({ event_time }));
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
      const milliseconds = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
      expect(milliseconds).toBe(event_time > 1e11 ? event_time : event_time * 1000);
    }),
  );
});
