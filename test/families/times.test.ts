import fc from 'fast-check';
import { saysNothing } from '../../src/families/event-time.ts';
import { timeSchema } from '../../src/families/field.ts';
import { families } from '../../src/families/index.ts';
import { milliseconds } from '../../src/families/iso-time.ts';
import { createParser } from '../../src/intake/parse-callback.ts';
import { Rejection } from '../../src/receiver/intake/rejection.ts';
import { receiptCallback, samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';

const database = useDatabase();

const two = (max: number) => fc.integer({ min: 0, max }).map((value) => String(value).padStart(2, '0'));
const optional = (text: fc.Arbitrary<string>) => fc.oneof(text, fc.constant(''));
const fraction = fc
  .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 11 })
  .map((d) => `.${d.join('')}`);
const year = fc.oneof(fc.integer({ min: 0, max: 9999 }), fc.constantFrom(0, 1, 1900, 2000, 2024, 2026, 9999));
const offset = fc.oneof(
  fc.constantFrom('Z', 'z', ''),
  fc
    .tuple(fc.constantFrom('+', '-'), two(16), optional(two(60)), fc.constantFrom(':', ''))
    .map(([sign, h, m, colon]) => (m ? sign + h + colon + m : sign + h)),
);

/** Times of ISO 8601, and texts that are nearly such. */
const isoText = fc
  .record({
    year: year.map((value) => String(value).padStart(4, '0')),
    month: two(13),
    day: two(32),
    between: fc.constantFrom('T', ' ', 't', '  ', ''),
    hour: two(24),
    minute: two(60),
    seconds: optional(fc.tuple(two(60), optional(fraction)).map(([s, f]) => `:${s}${f}`)),
    space: fc.constantFrom('', '', ' '),
    offset,
  })
  .map(
    (t) => `${t.year}-${t.month}-${t.day}${t.between}${t.hour}:${t.minute}${t.seconds}${t.space}${t.offset}`,
  );

const number = fc.oneof(
  fc.integer({ min: -62_135_596_900, max: -62_135_596_700 }),
  fc.integer({ min: 99_999_999_000, max: 100_000_001_000 }),
  fc.integer({ min: 253_402_300_799_000, max: 253_402_300_800_999 }),
  fc.maxSafeInteger(),
  fc.double(),
);

const isTime = (value: unknown) => timeSchema.safeParse(value).success;

/** The instants in microseconds, as PostgreSQL reads the values. */
async function microseconds(values: unknown[]): Promise<(bigint | null)[]> {
  const rows = await database.rows(
    `select (extract(epoch from callback_time(value)) * 1000000)::numeric(30)::text as us
     from jsonb_array_elements($1::jsonb) with ordinality as given(value, place) order by place`,
    [JSON.stringify(values)],
  );
  return rows.map(({ us }) => BigInt(us as string));
}

it('each spelling of a time is the same instant for the receiver and for PostgreSQL, which can store it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(isoText, isoText, number), { minLength: 200, maxLength: 200 }),
      async (values) => {
        const times = values.filter(isTime);
        const stored = await microseconds(times);
        const rounded = times.flatMap((value, index) => {
          const us = Number(stored[index]! - BigInt(milliseconds(value as string)) * 1000n);
          // The receiver counts whole milliseconds.
          return us >= 0 && us <= 1000 ? [] : [{ value, us }];
        });
        expect(rounded).toEqual([]);
      },
    ),
    { numRuns: 100 },
  );
});

it.each([
  ['2026-06-30T07:25:18Z', '2026-06-30T07:25:18Z'],
  ['2026-06-30 07:25:18.779000+00:00', '2026-06-30T07:25:18.779Z'],
  ['2026-06-30T12:55:18.779+05:30', '2026-06-30T07:25:18.779Z'],
  ['2026-06-30T07:25-0130', '2026-06-30T08:55:00Z'],
  ['2024-02-29T23:59:59.999Z', '2024-02-29T23:59:59.999Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
  ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
])('%s is %s', async (text, instant) => {
  expect(isTime(text)).toBe(true);
  expect(milliseconds(text)).toBe(Date.parse(instant));
  expect(await microseconds([text])).toEqual([BigInt(Date.parse(instant)) * 1000n]);
});

it.each([
  'now',
  'infinity',
  '1700000000',
  '2026-06-30',
  '07:25',
  '2026-06-30T07:25:18',
  '2026-13-01T00:00Z',
  '2023-02-29T00:00Z',
  '2026-06-31T00:00Z',
  '2026-06-30T24:00Z',
  '2026-06-30T07:60Z',
  '2026-06-30T07:25:60Z',
  '2026-06-30T07:25:18.Z',
  '2026-06-30T07:25:18+16:00',
  '2026-06-30T07:25:18 IST',
  ' 2026-06-30T07:25:18Z',
  '2026-06-30T07:25:18Z\n',
  '0000-12-31T23:30-01:00',
  '0001-01-01T00:00+00:01',
  '12026-06-30T07:25:18Z',
  1.5,
  Number.MAX_SAFE_INTEGER,
  -1e12,
  true,
  {},
  [],
  [1_700_000_000],
])('%j is no time, wherever it stands: the callback is refused, and says what is expected', (value) => {
  const parse = createParser(families);
  for (const callback of [
    ...(saysNothing(value) ? [] : [{ ...receiptCallback(), event_time: value }]),
    { ...receiptCallback(), timestamp: value },
    receiptCallback({ data: { created_at: value } }),
  ]) {
    const refusal = () => parse(Buffer.from(JSON.stringify(callback)));
    expect(refusal).toThrow(Rejection);
    try {
      refusal();
    } catch (error) {
      expect((error as Rejection).errors[0]!.message).toMatch(
        /^(expected a time .* got |must not be (before|after) the year|must be a whole number from)/,
      );
    }
  }
});

it('whatever is a time is stored in a row', async () => {
  const estimates = fc
    .sample(isoText, { numRuns: 3000 })
    .filter(isTime)
    .map((time, id) => samples.admission_estimate({ data: { id: String(id), date: time } }));
  expect(estimates.length).toBeGreaterThan(100);
  await apply(database, estimates);
  expect(await database.rows('select id from failed_deliveries')).toEqual([]);
  expect(await database.rows('select from admission_estimates where date is not null')).toHaveLength(
    estimates.length,
  );
});

// The sample's event: 2023-11-14T22:13:20Z.
it.each([
  [0, null],
  ['', null],
  [' ', null],
  [null, null],
  [-62_135_596_800, null],
  ['0001-01-01T00:00:00Z', null],
  ['1999-12-31T23:59:59.999Z', null],
  [946_684_799, null],
  ['2000-01-01T00:00:00Z', '2000-01-01T00:00:00.000Z'],
  [1_700_086_400, '2023-11-15T22:13:20.000Z'],
  [1_700_086_401, null],
  ['9999-12-31T23:59:59Z', null],
])(
  'a receipt that was created at %j, by itself: %s; what says nothing is kept as it came',
  async (created_at, said) => {
    await database.rows('truncate inbox, receipts cascade');
    await apply(database, [receiptCallback({ event_time: 1_700_000_000, data: { created_at } })]);
    const [row] = await database.rows('select created_at, extra from receipts');
    expect(row).toEqual({ created_at: said && new Date(said), extra: said ? {} : { created_at } });
  },
);
