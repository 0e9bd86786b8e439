import fc from 'fast-check';
import { canonicalJson, withDecimals } from '../../src/callbacks/exact-json.ts';
import { isStorable, mayBeUnstorable } from '../../src/callbacks/parse.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';

const isTaken = (json: string) => {
  const value = JSON.parse(json);
  return !(mayBeUnstorable(json) && !isStorable(value)) && isStorable(withDecimals(json, value));
};

const database = useReceiverDatabase();

it.each([
  ['U+0000 in a string', String.raw`{"data":{"name":"a\u0000b"}}`],
  ['U+0000 in a key', String.raw`{"data":{"a\u0000b":1}}`],
  ['an unpaired surrogate', String.raw`{"data":{"list":["x","\ud800"]}}`],
  ['a number too large for a double', '{"data":{"a":1e400}}'],
  ['a number too small for a double', '{"data":{"x y":1e-400}}'],
  ['a number too large for numeric', '{"data":{"a":[1,1e200000]}}'],
  ['too many digits after the point', `{"a":0.${'0'.repeat(300)}${'1'.repeat(16_084)}}`],
  ['too many zeros after the point', `{"a":1.${'0'.repeat(16_384)}}`],
  ['zeros that jsonb would write out', '{"a":0e-401}'],
  ['nesting deeper than 64', `{"data":{"a":${'['.repeat(63)}${']'.repeat(63)}}}`],
  ['objects deeper than 64', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`],
])('refuses %s', (_, json) => {
  expect(isTaken(json)).toBe(false);
});

it.each([
  ['an escaped pair', String.raw`{"a":"\ud83d\ude00"}`],
  ['an escaped backslash before u0000', String.raw`{"a":"\\u0000"}`],
  ['digits in a string', '{"a":"9007199254740993"}'],
  ['numbers with an exponent', '{"a":[1e2,1.50E+3,-2.5e-3,0e400,-0.0]}'],
  ['an amount with trailing zeros', '{"a":100.0000000000000000000}'],
  ['64 levels', `{"data":{"a":${'['.repeat(62)}${']'.repeat(62)}}}`],
  ['many arrays side by side', `{"a":[${'[],'.repeat(100)}{}]}`],
  ['an integer beyond 2^53', '{"a":9007199254740993}'],
  ['a fraction with more digits than a double has', '{"a":[0.1, 0.10000000000000000001]}'],
  ['as many digits after the point as numeric has', `{"a":0.${'0'.repeat(300)}${'1'.repeat(16_083)}}`],
  ['the largest exact integer', '{"a":9007199254740991}'],
])('accepts %s', (_, json) => {
  expect(isTaken(json)).toBe(true);
});

const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.bigInt({ min: 0n, max: 10n ** 20n }),
    fc.option(fc.stringMatching(/^\d{1,20}$/)),
    fc.option(fc.integer({ min: -330, max: 330 })),
  )
  .map(
    ([sign, whole, part, e]) =>
      `${sign}${whole}${part === null ? '' : `.${part}`}${e === null ? '' : `e${e}`}`,
  );

it('accepted JSON has the same texts in jsonb, and the same numbers to the last digit', async () => {
  const text = fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value));
  const json = fc
    .array(fc.oneof(numberText, text), { maxLength: 8 })
    .map((parts) => `{"a":[${parts.join(',')}]}`);
  const canonical = (document: string) => canonicalJson(withDecimals(document, JSON.parse(document)));
  await fc.assert(
    fc.asyncProperty(json, async (document) => {
      fc.pre(isTaken(document));
      const [row] = await database.rows('select $1::jsonb::text as value', [document]);
      expect(canonical(row!.value as string)).toBe(canonical(document));
    }),
    { numRuns: 300 },
  );
});

it('two numbers have the same canonical form if and only if they are equal in PostgreSQL', async () => {
  const digits = fc.stringMatching(/^[0-9]{1,3}$/);
  const near = fc
    .tuple(
      fc.constantFrom('0.1', '9007199254740992', '1', '0'),
      digits,
      fc.constantFrom('', 'e1', 'E-1', 'e+20', 'e-20'),
    )
    .map(([start, more, e]) => `${start}${start.includes('.') ? '' : '.'}${'0'.repeat(15)}${more}${e}`);
  const canonical = (number: string) => canonicalJson(withDecimals(`[${number}]`, JSON.parse(`[${number}]`)));
  await fc.assert(
    fc.asyncProperty(fc.oneof(near, numberText), fc.oneof(near, numberText), async (a, b) => {
      fc.pre(isTaken(`[${a},${b}]`));
      const [row] = await database.rows('select $1::numeric = $2::numeric as equal', [a, b]);
      expect(canonical(a) === canonical(b)).toBe(row!.equal);
    }),
    { numRuns: 1_000 },
  );
});
