import { Rejected, type ServiceError, Unavailable } from './errors.ts';
import type { Operation } from './operations.ts';

/** When a failed attempt is made again. */
export interface RetryPolicy {
  /** How often one call may be sent in all. */
  readonly maxAttempts: number;
  /** Upper bound of the first pause, milliseconds; it doubles each time, and chance picks a point below it. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

export const defaultRetryPolicy: RetryPolicy = { maxAttempts: 3, firstPauseMs: 200, longestPauseMs: 5_000 };

/**
 * Milliseconds to wait before the attempt is made again, or undefined where it must not be. A repeatable
 * operation is tried again after a 429, a 5xx, a time-out or a network error; another one only where its
 * request surely never arrived.
 */
export function pauseBeforeRetry(
  error: ServiceError,
  operation: Operation,
  attempt: number,
  policy: RetryPolicy,
): number | undefined {
  if (attempt >= policy.maxAttempts || !mayRepeat(error, operation)) return undefined;
  const asked = error instanceof Rejected || error instanceof Unavailable ? error.retryAfterMs : undefined;
  const bound = Math.min(policy.firstPauseMs * 2 ** (attempt - 1), policy.longestPauseMs);
  return (asked ?? 0) + Math.random() * bound;
}

function mayRepeat(error: ServiceError, operation: Operation): boolean {
  if (error instanceof Unavailable && !error.mayHaveReached) return true;
  return operation.repeatable && (error instanceof Unavailable || error.status === 429);
}

/** Milliseconds that a Retry-After header (seconds or a date, RFC 9110) asks for; undefined if unusable. */
export function retryAfterMs(header: string | string[] | undefined, now = Date.now()): number | undefined {
  if (typeof header !== 'string') return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
