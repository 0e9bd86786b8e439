import { type Link, TraceFlags } from '@opentelemetry/api';

/** The ids of a span, in hexadecimal digits. */
export interface SpanIds {
  traceId: string;
  spanId: string;
}

/** The trace of a delivery: its id without hyphens. */
export const traceIdOf = (delivery: string): string => delivery.replaceAll('-', '');

/**
 * The span of the request that stored a delivery first. It follows from the trace id, so that spans of later attempts,
 * and of other processes, can link to it.
 */
export const requestSpanOf = (traceId: string): SpanIds => ({ traceId, spanId: traceId.slice(16) });

/**
 * Whether the trace of a delivery, or one that has only its own id, is exported: every process decides the same. The last
 * 48 bits, which come from a hash, are compared with a threshold, as consistent probability sampling does; the SDK's
 * sampler reads all digits, which costs 20 times as much.
 *
 * @param ratio the share of the traces that are
 */
export function createSampler(ratio: number): (id: string) => boolean {
  const threshold = Math.ceil((1 - ratio) * 2 ** 48);
  const digits = threshold < 2 ** 48 ? threshold.toString(16).padStart(12, '0') : 'none';
  return (id) => id.slice(-12) >= digits;
}

export const linkTo = (ids: SpanIds, isRemote = false): Link => ({
  context: { ...ids, traceFlags: isRemote ? TraceFlags.NONE : TraceFlags.SAMPLED, isRemote },
});

const pattern = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(-.*)?$/;

/** The span that a `traceparent` header (W3C Trace Context) names; undefined: it names none. */
export function readTraceparent(header: string | string[] | undefined): SpanIds | undefined {
  const [, version, traceId, spanId, more] = (typeof header === 'string' && pattern.exec(header)) || [];
  if (!traceId || !spanId || (version === '00' && more !== undefined)) return undefined;
  return { traceId, spanId };
}
