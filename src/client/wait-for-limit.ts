import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from './call.ts';
import { ServiceError } from './errors.ts';
import { isRateLimited } from './retry.ts';

const longestPauseMs = 60_000;

/**
 * Repeats a read while the platform limits the rate of calls, for `rateLimitTimeoutMs` in total. The pause is Retry-After;
 * without one it doubles from `firstPauseMs` to a minute. Ends with the signal's reason.
 */
export async function waitForLimit<T>(
  read: () => Promise<T>,
  { retry, rateLimitTimeoutMs, onRetry }: Pick<Connection, 'retry' | 'rateLimitTimeoutMs' | 'onRetry'>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const end = performance.now() + rateLimitTimeoutMs;
  for (let count = 0; ; count++) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ServiceError && isRateLimited(error))) throw error;
      const bound = Math.min(retry.firstPauseMs * 2 ** count, longestPauseMs);
      // The random part keeps clients that were limited together apart.
      const pauseMs = (error.retryAfterMs ?? bound / 2) + (Math.random() * bound) / 2;
      if (performance.now() + pauseMs >= end) throw error;
      onRetry?.(error, pauseMs);
      await sleep(pauseMs, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}
