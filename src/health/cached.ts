import { withTimeout } from '../common/with-timeout.ts';

export type CachedResult<T> = { value: T } | 'running' | 'failed';

const timeoutMs = 3_000;
const keepMs = 30_000;

/**
 * Caches the result of a slow query for half a minute. It runs once at a time; a caller waits for three seconds at most.
 */
export function cached<T>(query: () => Promise<T>): () => Promise<CachedResult<T>> {
  let last: { value: T } | undefined;
  let lastMs = 0; // monotonic
  let running: Promise<CachedResult<T>> | undefined;
  const start = async (): Promise<CachedResult<T>> => {
    try {
      last = { value: await query() };
      lastMs = performance.now();
      return last;
    } catch {
      return 'failed';
    } finally {
      running = undefined;
    }
  };
  return async () => {
    if (last && performance.now() - lastMs < keepMs) return last;
    running ??= start();
    return withTimeout(timeoutMs, running).catch(() => last ?? 'running');
  };
}
