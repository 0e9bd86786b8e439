import fc from 'fast-check';
import type { Callback } from '../../src/sandbox/history.ts';
import { callbacks } from '../../src/sandbox/variations.ts';

const content = ({ envelope: { timestamp: _, ...rest } }: Callback) => JSON.stringify(rest);
const seed = fc.integer();

it('shuffles without losing or adding callbacks', () => {
  fc.assert(
    fc.property(seed, fc.nat({ max: 2_500 }), (seed, count) => {
      const sorted = (shuffle: boolean) => [...callbacks({ seed, count, shuffle })].map((c) => c.body).sort();
      expect(sorted(true)).toEqual(sorted(false));
    }),
    { numRuns: 15 },
  );
});

it('changes the order of callbacks when it shuffles', () => {
  const numbers = [...callbacks({ seed: 1, count: 500, shuffle: true })].map((c) => c.number);
  expect(numbers).not.toEqual([...numbers].sort((a, b) => a - b));
});

it('duplicates only earlier callbacks, byte for byte or with another timestamp', () => {
  fc.assert(
    fc.property(seed, (seed) => {
      const seen = new Map<string, Callback>();
      for (const callback of callbacks({ seed, count: 800, duplicates: 0.3 })) {
        const before = seen.get(content(callback));
        expect(callback.duplicate !== undefined).toBe(before !== undefined);
        if (callback.duplicate === 'same bytes') expect(callback.body).toBe(before?.body);
        if (callback.duplicate === 'new timestamp') expect(callback.body).not.toBe(before?.body);
        if (!before) seen.set(content(callback), callback);
      }
    }),
    { numRuns: 10 },
  );
});

it('generates the requested shares', () => {
  const sequence = [...callbacks({ seed: 5, count: 20_000, duplicates: 0.05, invalid: 0.01 })];
  const share = (one: (c: Callback) => boolean) => sequence.filter(one).length / sequence.length;
  expect(share((c) => c.duplicate !== undefined)).toBeCloseTo(0.05, 2);
  expect(share((c) => c.invalid !== undefined)).toBeCloseTo(0.01, 2);
  expect(sequence).toHaveLength(20_000);
});

it('mutates a callback into one that no receiver can accept', () => {
  const invalid = [...callbacks({ seed: 9, count: 600, invalid: 1 })];
  expect(new Set(invalid.map((c) => c.body)).size).toBe(600);
  const byWay = new Map(invalid.map((c) => [c.invalid, c]));
  expect([...byWay.keys()].sort()).toEqual([
    "another family's path",
    'data is a list',
    'event_time in the future',
    'event_time is text',
    'no business_id',
    'truncated',
    'unknown event',
  ]);
  const bodyOf = (way: string) => JSON.parse(byWay.get(way)!.body);
  expect(() => bodyOf('truncated')).toThrow(SyntaxError);
  expect(bodyOf('no business_id')).not.toHaveProperty('business_id');
  expect(bodyOf('unknown event').event).toBe('receipt.exploded');
  expect(bodyOf('event_time is text').event_time).toEqual(expect.any(String));
  expect(Array.isArray(bodyOf('data is a list').data)).toBe(true);
});

it('is lazy', () => {
  const sequence = callbacks({ seed: 1 });
  for (const expected of [0, 1, 2]) expect(sequence.next().value?.number).toBe(expected);
  expect([...callbacks({ seed: 1, count: 0 })]).toEqual([]);
});
