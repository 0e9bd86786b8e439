import { TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-base';
import fc from 'fast-check';
import { identify } from '../../src/intake/identity.ts';
import { readTraceparent, traceIdOf } from '../../src/tracing/trace-context.ts';
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
    ...[
      '',
      `ff-${valid}`,
      `00-${valid}-more`,
      `00-${valid.toUpperCase()}`,
      ` 00-${valid}`,
      `00-${valid}, 00-${valid}`,
    ],
    ...[`00-${zeros}-b7ad6b7169203331-01`, `00-0af7651916cd43dd8448eb211c80319c-${zeros.slice(16)}-01`],
  ]) {
    expect([text, readTraceparent(text)]).toEqual([text, undefined]);
  }
  expect(readTraceparent([`00-${valid}`])).toBeUndefined();
  fc.assert(fc.property(fc.string(), (text) => readTraceparent(text) === undefined));
});

it('deliveries are sampled evenly: of the same second, and over years', () => {
  const count = 20_000;
  const ratio = 0.01;
  const sampler = new TraceIdRatioBasedSampler(ratio);
  const share = (eventTime: (n: number) => number) => {
    const ids = Array.from({ length: count }, (_, n) =>
      identify(receiptCallback({ event_time: eventTime(n), data: { receipt_id: n } })),
    );
    return ids.filter((id) => sampler.shouldSample({} as never, traceIdOf(id)).decision !== 0).length;
  };
  // 200 are expected; six standard deviations are 84.
  for (const eventTime of [() => 1_700_000_000, (n: number) => 1_700_000_000 + n * 3_600]) {
    expect(Math.abs(share(eventTime) - count * ratio)).toBeLessThan(84);
  }
});
