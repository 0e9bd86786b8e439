import fc from 'fast-check';
import { z } from 'zod';
import { Decimal } from '../../src/decimal.ts';
import { createValidator, envelopeSchema, families } from '../../src/families/index.ts';
import { samples } from '../support/callbacks.ts';

const anyValue = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(undefined, null, '', 'x'.repeat(200), 'x'.repeat(201), Decimal.of('9007199254740993')),
  fc.constantFrom(-0, 0.5, 2 ** 53 - 1, 2 ** 53, 1e300, Number.POSITIVE_INFINITY, Number.NaN),
  fc.constantFrom(-62_135_596_800, -62_135_596_801, 253_402_300_799_999, 253_402_300_800_000),
  ...families.map(({ events }) => fc.constantFrom(...events)),
);

/** A valid callback of which some fields have another value. */
const callback = fc.constantFrom(...Object.values(samples)).chain((sample) => {
  const { data, ...envelope } = sample();
  const changed = <T extends object>(fields: T) =>
    fc
      .dictionary(fc.constantFrom(...Object.keys(fields), 'unknown'), anyValue, { maxKeys: 2 })
      .map((changes) => ({ ...fields, ...changes }));
  const changedData = fc.oneof({ weight: 9, arbitrary: changed(data) }, { weight: 1, arbitrary: anyValue });
  return fc.tuple(changed(envelope), changedData).map(([outer, inner]) => ({ ...outer, data: inner }));
});

it('finds the faults that the schema finds', () => {
  const schema = envelopeSchema(families);
  const validate = createValidator(schema);
  fc.assert(
    fc.property(fc.oneof({ weight: 9, arbitrary: callback }, anyValue), (value) => {
      const { error } = schema.safeParse(value);
      expect(validate(value)).toEqual(error?.issues ?? []);
    }),
    { numRuns: 3_000 },
  );
});

it.each([
  ['a format', z.email()],
  ['a pattern', z.string().regex(/^a+$/)],
  ['an exclusive limit', z.number().gt(0).lt(3)],
  ['a refinement', z.string().refine((text) => text.length !== 2)],
  ['a conversion', z.coerce.number()],
  ['a strict object', z.strictObject({ a: z.string() })],
  ['a list', z.array(z.int()).min(1)],
  ['exclusive options', z.xor([z.string().min(1), z.string().max(1)])],
  ['a default', z.looseObject({ a: z.string().default('x') })],
])('a schema with %s decides itself', (_, schema) => {
  const validate = createValidator(schema);
  const near = fc.constantFrom('a', 'aa', 'a@b.co', '3', 0, 1, 3, [], [1], { a: 'x' }, { a: 'x', b: 1 });
  fc.assert(
    fc.property(fc.oneof(near, anyValue), (value) => {
      expect(validate(value)).toEqual(schema.safeParse(value).error?.issues ?? []);
    }),
  );
});
