import fc from 'fast-check';
import { documentedEvent, families, registrations } from '../../src/sandbox/families.ts';
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

it('a lean update has the id and what it changes, and a lean deletion the id alone: together they say the same', () => {
  const options = { seed: 3, count: 2_000, families, spelling: 'mixed' as const };
  const whole = [...callbacks(options)];
  const lean = [...callbacks({ ...options, lean: 0.5 })];
  expect(lean.map(({ number, event }) => [number, event])).toEqual(
    whole.map(({ number, event }) => [number, event]),
  );
  const known = new Map<string, object>();
  let leaner = 0;
  for (const [index, { body, envelope, family }] of lean.entries()) {
    const { data, event, business_id, transaction_id } = whole[index]!.envelope;
    const key = `${business_id} ${family} ${registrations[family].identifiedBy.map((name) => data[name])} ${transaction_id}`;
    const before = known.get(key) ?? {};
    const isDeletion = event.endsWith('.deleted');
    if (!isDeletion) expect({ ...before, ...envelope.data }).toEqual({ ...before, ...data });
    if (Object.keys(envelope.data).length < Object.keys(data).length) {
      leaner += 1;
      const sent = Object.keys(JSON.parse(body).data);
      expect(sent.length).toBeLessThan(Object.keys(JSON.parse(whole[index]!.body).data).length);
      if (isDeletion) expect(sent).toHaveLength(1);
    }
    known.set(key, { ...before, ...data });
  }
  expect(leaner).toBeGreaterThan(100);
});

it('generates the requested shares', () => {
  const sequence = [...callbacks({ seed: 5, count: 20_000, duplicates: 0.05, invalid: 0.01 })];
  const share = (one: (c: Callback) => boolean) => sequence.filter(one).length / sequence.length;
  expect(share((c) => c.duplicate !== undefined)).toBeCloseTo(0.05, 2);
  expect(share((c) => c.invalid !== undefined)).toBeCloseTo(0.01, 2);
  expect(sequence).toHaveLength(20_000);
});

describe.each(['registered', 'events'] as const)('an invalid callback, sent to %s paths', (to) => {
  const invalid = [...callbacks({ seed: 9, count: 3_000, invalid: 1, to, families, spelling: 'mixed' })];
  const of = (way: string) => invalid.filter((callback) => callback.invalid === way);
  const sentOf = (way: string) => of(way).map(({ body }) => JSON.parse(body));

  it('is one that no receiver can accept there', () => {
    const everywhere = [
      'a list in place of text',
      'data is a list',
      'event_time in the future',
      'event_time is text',
      'no identifying field',
      'truncated',
    ];
    const atRegisteredPaths = ["another family's path", 'unknown event'];
    expect([...new Set(invalid.map((callback) => callback.invalid))].sort()).toEqual(
      (to === 'events' ? everywhere : [...everywhere, ...atRegisteredPaths]).sort(),
    );
    expect(new Set(invalid.map(({ body }) => body)).size).toBe(3_000);
  });

  it('is invalid in the way that its name says', () => {
    for (const { body } of of('truncated')) expect(() => JSON.parse(body)).toThrow(SyntaxError);
    for (const { event_time } of sentOf('event_time is text')) expect(Date.parse(event_time)).toBeNaN();
    for (const { event_time } of sentOf('event_time in the future')) {
      expect(event_time).toBeGreaterThan(Date.now() + 86_400_000);
    }
    for (const { data } of sentOf('data is a list')) expect(Array.isArray(data)).toBe(true);
    for (const { data } of sentOf('a list in place of text')) {
      expect(Object.values(data)).toContainEqual([expect.any(String)]);
    }
    for (const { body, envelope } of of('no identifying field')) {
      const { receipt_id, id, prescription_id, appointment_id } = envelope.data;
      const thing = receipt_id ?? id ?? prescription_id ?? appointment_id;
      expect(Object.values(JSON.parse(body).data).map(String)).not.toContain(String(thing));
    }
    for (const { event } of sentOf('unknown event')) expect(event).toMatch(/\.exploded$/);
    for (const { family, event } of of("another family's path")) {
      expect(family).not.toBe(documentedEvent(event).family);
    }
  });
});

it('is lazy', () => {
  const sequence = callbacks({ seed: 1 });
  for (const expected of [0, 1, 2]) expect(sequence.next().value?.number).toBe(expected);
  expect([...callbacks({ seed: 1, count: 0 })]).toEqual([]);
});
