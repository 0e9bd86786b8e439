import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { earliestMs } from '../../src/families/event-time.ts';
import { families } from '../../src/families/index.ts';
import { identify } from '../../src/intake/identity.ts';
import { createParser } from '../../src/intake/parse-callback.ts';
import { canonicalJson } from '../../src/receiver/intake/canonical-json.ts';
import { consentFormCallback, receiptCallback } from '../support/callbacks.ts';

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

it('canonical JSON equals that of a plain sort of the keys, whatever the cache contains', () => {
  const plain = (value: unknown): string => {
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    if (Array.isArray(value)) return `[${value.map(plain).join(',')}]`;
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${plain(inner)}`).join(',')}}`;
  };
  // Few keys, so that many objects have the same number of keys, or the same keys in another order.
  const key = fc.constantFrom(
    'a',
    'b',
    'c',
    '1',
    '10',
    '2',
    '__proto__',
    'a,b',
    '"',
    '\u0000',
    'é',
    '\ud83d',
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, fc.jsonValue({ maxDepth: 0 }), tie('object'), fc.array(tie('value'))),
    object: fc
      .uniqueArray(fc.tuple(key, tie('value')), { selector: ([name]) => name })
      .map((entries) =>
        JSON.parse(`{${entries.map(([name, inner]) => `${JSON.stringify(name)}:${JSON.stringify(inner)}`)}}`),
      ),
  }));
  fc.assert(
    fc.property(value, (any) => {
      expect(canonicalJson(any)).toBe(plain(any));
    }),
    { numRuns: 1_000 },
  );
});

it('the id of a delivery never changes between versions', () => {
  expect(identify(receiptCallback())).toBe('018bcfe5-6800-8f33-a743-36b5436a648c');
  const form = consentFormCallback({ data: { z: { b: [1, { d: 'ü', c: null }], a: 1e21 } } });
  const { type: _, ...data } = form.data;
  expect(identify({ ...form, data })).toBe('018bcfe5-6800-8d70-ad4b-86670f02d9e4');
});

const parse = createParser(families);

const idOf = (amount: string) => {
  const json = JSON.stringify(receiptCallback({ data: { net_amount: 0 } })).replace(
    '"net_amount":0',
    `"net_amount":${amount}`,
  );
  return parse(Buffer.from(json)).id;
};

it('deliveries that differ in a digit beyond a double’s precision have different ids', () => {
  const amounts = [
    '0.1',
    '0.10000000000000000001',
    '0.10000000000000000002',
    '9007199254740992',
    '9007199254740993',
  ];
  expect(new Set(amounts.map(idOf)).size).toBe(amounts.length);
});

it.each([
  ['1', ['1.0', '1e0', '10E-1', '1.00000000000000000000000']],
  ['100', ['1e2', '100.0', '1.0e+2']],
  ['1.5', ['1.50', '15e-1', '0.0015E3']],
  ['0', ['-0', '0.0', '0e5', '0.00000000000000000000000']],
  [
    '0.10000000000000000001',
    ['0.100000000000000000010', '10000000000000000001e-20', '1.0000000000000000001E-1'],
  ],
  ['-12345678901234567890', ['-1234567890123456789e1', '-12345678901234567890.0']],
])('a delivery has the same id in all notations of the number %s', (number, spellings) => {
  expect(spellings.map(idOf)).toEqual(spellings.map(() => idOf(number)));
});

it('the id of a delivery with numbers within a double’s precision is that of their values', () => {
  for (const amount of ['500.1', '1e21', '1.50E+3', '5e-324', '1.7976931348623157e308']) {
    expect(idOf(amount)).toBe(identify(receiptCallback({ data: { net_amount: Number(amount) } })));
  }
});

it('a resend with another timestamp has the same id; any other change makes a new id', () => {
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
  expect(new Set([id, ...others.map((other) => identify(other))]).size).toBe(others.length + 1);
});

it('ids are UUIDs of version 8 that begin with the event time, in seconds or milliseconds alike', () => {
  const time = fc.oneof(
    fc.integer({ min: earliestMs / 1000, max: 4e9 }),
    fc.integer({ min: earliestMs, max: 253402300799999 }),
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
