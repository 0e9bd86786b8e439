import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { canonicalJson, withDecimals } from '../../src/callbacks/exact-json.ts';
import { receipt } from '../../src/callbacks/families/receipt.ts';
import { identifyingMembers } from '../../src/callbacks/identify.ts';
import { plainDigest } from '../../src/callbacks/plain-digest.ts';
import { findUnstorable } from '../../src/callbacks/unstorable.ts';
import { receiptCallback, samples } from '../support/callbacks.ts';

const identifying = ['event', 'event_time', 'client_id', 'business_id', 'data'];

/** The digest by way of the parsed value. */
function digestOf(json: string): string {
  const { event_type, ...value } = withDecimals(json, JSON.parse(json)) as Record<string, unknown>;
  if (event_type !== undefined) value.event ??= event_type;
  for (const id of ['client_id', 'business_id']) if ((value[id] ?? '') === '') delete value[id];
  const content = Object.fromEntries(Object.entries(value).filter(([key]) => identifying.includes(key)));
  return createHash('sha256').update(canonicalJson(content)).digest('hex');
}

const space = fc.constantFrom('', '', ' ', '\n\t');
const spaced = (text: fc.Arbitrary<string>) =>
  fc.tuple(space, text, space).map(([before, inner, after]) => before + inner + after);

const number = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.tuple(fc.integer({ min: -99, max: 99 }), fc.stringMatching(/^\d{1,3}$/)).map((parts) => parts.join('.')),
  fc.stringMatching(/^-?(0|[1-9]\d{0,17})(\.\d{1,18})?([eE][+-]?\d{1,3})?$/),
);
const text = fc
  .oneof(fc.string(), fc.string({ unit: 'binary' }), fc.stringMatching(/^[{}[\],: \d]{1,120}$/))
  .map((value) => JSON.stringify(value));
// Few keys, so that many objects have the same number of keys, the same keys in another order, or one key twice.
const key = fc
  .constantFrom(
    ...identifying,
    'event_type',
    'timestamp',
    'a',
    'ab',
    'b',
    '1',
    '10',
    '2',
    '__proto__',
    'é',
    '"',
    '',
  )
  .map((value) => JSON.stringify(value));
const membersOf = (value: fc.Arbitrary<string>) =>
  fc
    .array(
      fc.tuple(spaced(key), spaced(value)).map((parts) => parts.join(':')),
      { maxLength: 7 },
    )
    .map((list) => `{${list.join(',')}}`);
const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    number,
    text,
    fc.constantFrom('true', 'false', 'null', '{}', '[]', '[1, "a"]', '{ }'),
    tie('object'),
    tie('object'),
  ),
  object: membersOf(tie('value')),
}));
const callback = spaced(membersOf(value));

it('the digest of JSON that is written plainly is that of its canonical form', () => {
  let plain = 0;
  fc.assert(
    fc.property(callback, (json) => {
      const digest = plainDigest(Buffer.from(json), JSON.parse(json), identifyingMembers(receipt));
      if (digest === undefined) return;
      plain += 1;
      expect(digest).toBe(digestOf(json));
    }),
    { numRuns: 5_000 },
  );
  expect(plain).toBeGreaterThan(100);
});

it('JSON that has a digest has nothing that jsonb rejects, and no number beyond a double’s precision', () => {
  fc.assert(
    fc.property(callback, (json) => {
      fc.pre(plainDigest(Buffer.from(json), JSON.parse(json), identifyingMembers(receipt)) !== undefined);
      const parsed = JSON.parse(json);
      expect(findUnstorable(json, parsed)).toEqual([]);
      expect(withDecimals(json, parsed)).toBe(parsed);
    }),
    { numRuns: 500 },
  );
});

it.each([
  ['a receipt', receiptCallback()],
  [
    'a receipt with paise, a negative amount and text of another script',
    receiptCallback({ data: { name: 'आशा', amount_due: -10.55, net_amount: 0.5 } }),
  ],
  ['a consent form', samples.consent_form()],
  ['a review request', samples.review_request()],
  ['nested objects', receiptCallback({ data: { z: { b: { d: 1, c: null }, a: {} } } })],
])('%s has the same digest in compact and in spaced JSON', (_, json) => {
  for (const indent of [0, 2]) {
    const written = JSON.stringify(json, null, indent);
    expect(plainDigest(Buffer.from(written), JSON.parse(written), identifyingMembers(receipt))).toBe(
      digestOf(written),
    );
  }
});

it.each([
  ['an escape', '{"data":{"a":"\\u0061"}}'],
  ['an array', '{"data":{"a":[]}}'],
  ['a key of another script', '{"data":{"é":1}}'],
  ['a repeated key', '{"data":{"a":1,"a":2}}'],
  ['an exponent', '{"data":{"a":1e5}}'],
  ['a trailing zero', '{"data":{"a":1.0}}'],
  ['minus zero', '{"data":{"a":-0}}'],
  ['a number below 1e-6', '{"data":{"a":0.0000001}}'],
  ['sixteen digits', '{"data":{"a":1234567890123456}}'],
  ['deep nesting', `${'{"data":'.repeat(9)}1${'}'.repeat(9)}`],
  ['a hundred and one members', `{${Array.from({ length: 101 }, (_, index) => `"k${index}":0`)}}`],
  ['more than 16 kB', `{"a":"${'x'.repeat(16_384)}"}`],
  ['no object', '[]'],
  ['a number only', '1'],
])('JSON with %s has none', (_, json) => {
  expect(plainDigest(Buffer.from(json), JSON.parse(json), identifyingMembers(receipt))).toBeUndefined();
});
