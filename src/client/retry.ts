import type { Operation } from './operations.ts';
import { type ServiceError, Unavailable } from './service-errors.ts';

/** When a failed attempt is retried. */
export interface RetryPolicy {
  /** Attempts in total, the first included. */
  readonly maxAttempts: number;
  /** Upper bound of the first pause, milliseconds. It doubles each time up to 5 s; the pause is random below it. */
  readonly firstPauseMs: number;
}

export const defaultRetryPolicy: RetryPolicy = { maxAttempts: 3, firstPauseMs: 200 };

/**
 * Milliseconds to wait before the retry, or undefined for none. A repeatable operation is retried after a 429, a 5xx, a
 * time-out or a network error; another one only if its request never reached the service. A read goes on while the platform
 * limits the rate of calls.
 */
export function pauseBeforeRetry(
  error: ServiceError,
  { group, repeatable }: Operation,
  attempt: number,
  { maxAttempts, firstPauseMs }: RetryPolicy,
): number | undefined {
  const isRateLimited = error.status === 429 || error.code === 'rate_limit_exceeded';
  const isWaiting = group === 'reading' && isRateLimited;
  const isRetryable =
    error instanceof Unavailable ? repeatable || !error.mayHaveReached : repeatable && isRateLimited;
  if (!isWaiting && (attempt >= maxAttempts || !isRetryable)) return undefined;
  const bound = Math.min(firstPauseMs * 2 ** (attempt - 1), isWaiting ? 60_000 : 5_000);
  return (error.retryAfterMs ?? 0) + Math.random() * bound;
}

/** A Retry-After header (seconds or a date, RFC 9110) in milliseconds; undefined if invalid. */
export function retryAfterMs(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
