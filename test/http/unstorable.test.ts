import fc from 'fast-check';
import { findUnstorable } from '../../src/http/unstorable.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';

const check = (json: string) => findUnstorable(json, JSON.parse(json));
const paths = (json: string) => check(json).map(({ path }) => path);

let database: TestDatabase;
beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterAll(() => database.close());

it.each([
  ['U+0000 in a string', String.raw`{"data":{"name":"a\u0000b"}}`, ['/data/name']],
  ['U+0000 in a key', String.raw`{"data":{"a\u0000b":1}}`, ['/data']],
  ['a lone surrogate', String.raw`{"data":{"list":["x","\ud800"]}}`, ['/data/list/1']],
  ['an integer beyond 2^53', '{"data":{"receipt_id":9007199254740993}}', ['/data/receipt_id']],
  ['a fraction with too many digits', '{"data":{"a":[0.1, 0.10000000000000000001]}}', ['/data/a/1']],
  ['a number too large for a double', '{"data":{"a":1e400}}', ['/data/a']],
  ['a number too small for a double', '{"data":{"x y":1e-400}}', ['/data/…']],
  ['nesting deeper than 64', `{"data":{"a":${'['.repeat(63)}${']'.repeat(63)}}}`, ['/data/a']],
  ['objects deeper than 64', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, ['/a/a']],
])('names the field that holds %s', (_, json, expected) => {
  expect(paths(json)).toEqual(expected);
});

it.each([
  ['an escaped pair', String.raw`{"a":"\ud83d\ude00"}`],
  ['an escaped backslash before u0000', String.raw`{"a":"\\u0000"}`],
  ['digits in a string', '{"a":"9007199254740993"}'],
  ['numbers with an exponent', '{"a":[1e2,1.50E+3,-2.5e-3,0e400,-0.0]}'],
  ['an amount with trailing zeros', '{"a":100.0000000000000000000}'],
  ['64 levels', `{"data":{"a":${'['.repeat(62)}${']'.repeat(62)}}}`],
  ['many arrays side by side', `{"a":[${'[],'.repeat(100)}{}]}`],
  ['the largest exact integer', '{"a":9007199254740991}'],
])('lets %s pass', (_, json) => {
  expect(check(json)).toEqual([]);
});

it('whatever passes comes back from jsonb with the value that JSON.parse gave', async () => {
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
  const text = fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value));
  const json = fc
    .array(fc.oneof(numberText, text), { maxLength: 8 })
    .map((parts) => `{"a":[${parts.join(',')}]}`);
  await fc.assert(
    fc.asyncProperty(json, async (document) => {
      fc.pre(check(document).length === 0);
      const [row] = await database.rows('select $1::jsonb as value', [document]);
      expect(row!.value).toEqual(JSON.parse(document, (_, value) => (Object.is(value, -0) ? 0 : value)));
    }),
    { numRuns: 300 },
  );
});
