import fc from 'fast-check';
import { type Family, families, takesEveryEvent } from '../../src/families/index.ts';
import { createParser } from '../../src/intake/parse-callback.ts';
import { type FieldError, Rejection } from '../../src/receiver/intake/rejection.ts';
import { samples } from '../support/callbacks.ts';

const parse = createParser(families);
const listed: readonly Family[] = families.filter((family) => !takesEveryEvent(family));

function faultsOf(callback: unknown, expected?: Family): readonly FieldError[] {
  try {
    parse(Buffer.from(JSON.stringify(callback)), expected);
    return [];
  } catch (error) {
    if (error instanceof Rejection) return error.errors;
    throw error;
  }
}

const sampleOf = ({ name }: Family) =>
  samples[name as keyof typeof samples]() as unknown as Record<string, unknown>;

/** Every documented field, and those of the envelope: where they are in a callback. */
const places = listed.flatMap((family) => {
  const { data, ...envelope } = sampleOf(family);
  const around = Object.keys({ ...envelope, transaction_id: '', data: '', event_type: '' });
  return [
    ...around.map((name) => ({
      family,
      at: `/${name}`,
      put: (value: unknown) => ({ ...sampleOf(family), [name]: value }),
    })),
    ...[...Object.keys(data as object), 'rx_id'].map((name) => ({
      family,
      at: `/data/${name}`,
      put: (value: unknown) => ({ ...sampleOf(family), data: { ...(data as object), [name]: value } }),
    })),
  ];
});

const marker = fc.constantFrom(
  'SECRET',
  'SECRET 98765432109',
  '98765432109',
  '2026-98765-01',
  'SECRET'.repeat(40),
);
const value = fc.oneof(
  marker,
  fc.constantFrom<unknown>(
    '',
    null,
    true,
    98765432109876,
    98765432.5,
    -98765432109876,
    1e300,
    -1e300,
    98765432109876 * 1e5,
  ),
  fc.array(marker, { maxLength: 2 }),
  fc.dictionary(marker, marker, { maxKeys: 2 }),
);

// What a developer of the sender reads.
const words = [
  'is required',
  'must not be (empty|before the year 1|after the year 9999|more than a day in the future)',
  'must have at most 200 characters',
  'must be a whole number from -?\\d+ to \\d+',
  'must be one of [a-z_., ]+ at this path; send [a-z_.]+ to the path of [A-Z_]+',
  'is not a known event(: this path takes [a-z_., ]+)?',
  'expected (text|a number|a whole number|an object|a list|a time \\(.*?\\)|a name \\(.*?\\)|true or false), got ' +
    '(null|text|a number|a whole number|a number with a fraction|true or false|a list|an object)',
].join('|');

it('whatever is wrong in a field of any family, the response says where and what is expected, and never what was sent', () => {
  fc.assert(
    fc.property(fc.nat(places.length - 1), value, fc.boolean(), (place, sent, isAtPath) => {
      const { family, at, put } = places[place]!;
      for (const { path, message } of faultsOf(put(sent), isAtPath ? family : undefined)) {
        expect(message).toMatch(new RegExp(`^(?:${words})$`));
        expect(path).toMatch(new RegExp(`^${at.replace('/event_type', '/event')}(?:/|$)`));
        expect(path + message.replace(/from -?\d+ to \d+/, '')).not.toMatch(/SECRET|98765/);
      }
    }),
    { numRuns: 3_000 },
  );
});

const wrongTypes: [unknown, string][] = [
  ['12', 'text'],
  [true, 'true or false'],
  [{}, 'an object'],
  [[], 'a list'],
];

it.each(
  places.flatMap(({ family, at, put }) => {
    const expected: Record<string, string> = {
      event: 'text',
      event_time: 'a time (seconds, milliseconds, or ISO 8601 with an offset)',
      timestamp: 'a time (seconds, milliseconds, or ISO 8601 with an offset)',
      client_id: 'text',
      business_id: 'text',
      data: 'an object',
    };
    const name = at.slice(1);
    return expected[name] ? [[at, family.name, put, expected[name]] as const] : [];
  }),
)('%s of a %s: each wrong type is named', (at, _, put, expected) => {
  for (const [sent, got] of wrongTypes) {
    if (got === expected) continue;
    const faults = faultsOf(put(sent));
    if (expected === 'text' && got === 'text') continue;
    if (at === '/event' && got === 'text') continue;
    expect(faults).toEqual([{ path: at, message: `expected ${expected}, got ${got}` }]);
  }
});

it.each<[string, unknown, string]>([
  ['net_amount', '12', 'expected a number, got text'],
  ['net_amount', [12], 'expected a number, got a list'],
  ['archive', 1.5, 'expected a whole number, got a number with a fraction'],
  ['archive', '1', 'expected a whole number, got text'],
  ['mobile', 919900000001, 'expected text, got a whole number'],
  ['mobile', 0.5, 'expected text, got a number with a fraction'],
  ['mobile', false, 'expected text, got true or false'],
  ['receipt_id', 'R-1', 'expected a whole number, got text'],
  ['receipt_id', '', 'expected a whole number, got text'],
  ['receipt_id', null, 'expected a whole number, got null'],
  ['receipt_id', undefined, 'is required'],
  [
    'created_at',
    'yesterday',
    'expected a time (seconds, milliseconds, or ISO 8601 with an offset), got text',
  ],
  ['created_at', -1e12, 'must not be before the year 1'],
])('the receipt field %s, sent as %j: %s', (name, sent, message) => {
  expect(faultsOf(samples.receipt({ data: { [name]: sent } }))).toEqual([{ path: `/data/${name}`, message }]);
});

it.each(listed.map((family) => [family.name, family] as const))(
  'data of a %s that is a number, even one with many digits, is no object',
  (_, family) => {
    const { data: __, ...rest } = sampleOf(family);
    for (const number of ['1', '12345678901234567890', '0.12345678901234567890']) {
      const body = `${JSON.stringify(rest).slice(0, -1)},"data":${number}}`;
      expect(() => parse(Buffer.from(body))).toThrow(
        expect.objectContaining({
          errors: [{ path: '/data', message: expect.stringContaining('expected an object, got a ') }],
        }),
      );
    }
  },
);

it('a field with two names is called as the sender called it', () => {
  const { prescription_id: _, ...rest } = samples.prescription().data;
  const named = (names: object) => faultsOf({ ...samples.prescription(), data: { ...rest, ...names } });
  expect(named({ rx_id: 5 })).toEqual([
    { path: '/data/rx_id', message: 'expected text, got a whole number' },
  ]);
  expect(named({ rx_id: '' })).toEqual([{ path: '/data/rx_id', message: 'must not be empty' }]);
  expect(named({ prescription_id: 5, rx_id: 'rx-1' })).toEqual([
    { path: '/data/prescription_id', message: 'expected text, got a whole number' },
  ]);
  expect(named({})).toEqual([{ path: '/data/prescription_id', message: 'is required' }]);
});

it.each(listed.map((family) => [family.name, family] as const))(
  'an unknown event at the path of a %s is told what the path takes; an event of another family, where it belongs',
  (_, family) => {
    const unknown = { ...sampleOf(family), event: 'SECRET.event' };
    const takes = family.events.join(', ');
    expect(faultsOf(unknown, family)).toEqual([
      { path: '/event', message: `is not a known event: this path takes ${takes}` },
    ]);
    expect(faultsOf(unknown)).toEqual([{ path: '/event', message: 'is not a known event' }]);
    const other = listed.find((one) => one !== family)!;
    expect(faultsOf(sampleOf(other), family)).toEqual([
      {
        path: '/event',
        message: `must be one of ${takes} at this path; send ${sampleOf(other).event} to the path of ${other.path.variable}`,
      },
    ]);
  },
);
