import { type ServiceError, Unavailable } from './errors.ts';
import type { Operation } from './operations.ts';

/** When a failed attempt is retried. */
export interface RetryPolicy {
  /** Attempts in total, the first included. */
  readonly maxAttempts: number;
  /** Upper bound of the first pause, milliseconds. It doubles each time; the pause is random below it. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

export const defaultRetryPolicy: RetryPolicy = { maxAttempts: 3, firstPauseMs: 200, longestPauseMs: 5_000 };

/**
 * Milliseconds to wait before the retry, or undefined for none. A repeatable operation is retried after a 429, a 5xx, a
 * time-out or a network error; another one only if its request never reached the service.
 */
export function pauseBeforeRetry(
  error: ServiceError,
  operation: Operation,
  attempt: number,
  policy: RetryPolicy,
): number | undefined {
  if (attempt >= policy.maxAttempts || !isRetryable(error, operation)) return undefined;
  const bound = Math.min(policy.firstPauseMs * 2 ** (attempt - 1), policy.longestPauseMs);
  return (error.retryAfterMs ?? 0) + Math.random() * bound;
}

function isRetryable(error: ServiceError, operation: Operation): boolean {
  if (error instanceof Unavailable && !error.mayHaveReached) return true;
  // waitForLimit waits longer than the time-out of a call.
  if (operation.group === 'reading' && isRateLimited(error)) return false;
  return operation.repeatable && (error instanceof Unavailable || isRateLimited(error));
}

/** Whether the platform refused the call because there were too many: 429, or the documented code. */
export function isRateLimited({ status, code }: ServiceError): boolean {
  return status === 429 || code === 'rate_limit_exceeded';
}

/** A Retry-After header (seconds or a date, RFC 9110) in milliseconds; undefined if invalid. */
export function retryAfterMs(header: string | string[] | undefined, now = Date.now()): number | undefined {
  if (typeof header !== 'string') return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
