import fc from 'fast-check';
import { identify } from '../../src/intake/identity.ts';
import { createSampler, readTraceparent, traceIdOf } from '../../src/tracing/trace-context.ts';
import { receiptCallback } from '../support/callbacks.ts';

const hex = (length: number) =>
  fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((text) => /[^0]/.test(text));

it('every traceparent of version 00 names its span', () => {
  fc.assert(
    fc.property(hex(32), hex(16), fc.constantFrom('00', '01', 'ff'), (traceId, spanId, flags) => {
      expect(readTraceparent(`00-${traceId}-${spanId}-${flags}`)).toEqual({ traceId, spanId });
    }),
  );
});

it('any other text names none, except for a future version that starts the same', () => {
  const valid = '0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  expect(readTraceparent(`01-${valid}-what-comes`)).toBeDefined();
  const zeros = '0'.repeat(32);
  for (const text of [
    '',
    `ff-${valid}`,
    `00-${valid}-more`,
    `00-${valid.toUpperCase()}`,
    ` 00-${valid}`,
    `00-${valid}, 00-${valid}`,
    `00-${zeros}-b7ad6b7169203331-01`,
    `00-0af7651916cd43dd8448eb211c80319c-${zeros.slice(16)}-01`,
  ]) {
    expect([text, readTraceparent(text)]).toEqual([text, undefined]);
  }
  expect(readTraceparent([`00-${valid}`])).toBeUndefined();
  fc.assert(fc.property(fc.string(), (text) => readTraceparent(text) === undefined));
});

const ids = (count: number, eventTime: (n: number) => number) =>
  Array.from({ length: count }, (_, n) =>
    identify(receiptCallback({ event_time: eventTime(n), data: { receipt_id: n } })),
  );

it('deliveries are sampled evenly: of the same second, and over years', () => {
  const isSampled = createSampler(0.01);
  // 100 are expected; six standard deviations are 60.
  for (const eventTime of [() => 1_700_000_000, (n: number) => 1_700_000_000 + n * 3_600]) {
    expect(Math.abs(ids(10_000, eventTime).filter(isSampled).length - 100)).toBeLessThan(60);
  }
});

it('a delivery and its trace are decided alike; a larger share has all of a smaller one, 1 all, and 0 none', () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const deliveries = ids(50, () => 1_700_000_000);
  fc.assert(
    fc.property(share, share, (a, b) => {
      const [isInFewer, isInMore] = [createSampler(Math.min(a, b)), createSampler(Math.max(a, b))];
      return deliveries.every(
        (id) => isInFewer(traceIdOf(id)) === isInFewer(id) && (isInMore(id) || !isInFewer(id)),
      );
    }),
  );
  expect(deliveries.some(createSampler(0))).toBe(false);
  expect(deliveries.every(createSampler(1))).toBe(true);
});
