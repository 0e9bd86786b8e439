export type Answer<T> = { value: T; at: Date } | 'waiting' | 'failed';

const timeoutMs = 3_000;
const keepMs = 30_000;

/**
 * Caches the result of a slow query for half a minute. It runs once at a time; a caller waits for three seconds at most.
 */
export function cached<T>(ask: () => Promise<T>): () => Promise<Answer<T>> {
  let last: { value: T; at: Date } | undefined;
  let lastMs = 0; // by the clock that nobody sets
  let asking: Promise<Answer<T>> | undefined;
  const askAgain = async (): Promise<Answer<T>> => {
    try {
      last = { value: await ask(), at: new Date() };
      lastMs = performance.now();
      return last;
    } catch {
      return 'failed';
    } finally {
      asking = undefined;
    }
  };
  return async () => {
    if (last && performance.now() - lastMs < keepMs) return last;
    asking ??= askAgain();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Answer<T>>((resolve) => {
      timer = setTimeout(() => resolve(last ?? 'waiting'), timeoutMs);
    });
    try {
      return await Promise.race([asking, late]);
    } finally {
      clearTimeout(timer);
    }
  };
}
