export type Answer<T> = { value: T; at: Date } | 'waiting' | 'failed';

const patienceMs = 3_000;
const keepMs = 30_000;

/**
 * Remembers the answer to a question that may take long: it is asked once at a time, and not again for half a
 * minute. Who asks waits for three seconds at most.
 */
export function remembered<T>(ask: () => Promise<T>): () => Promise<Answer<T>> {
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
      timer = setTimeout(() => resolve(last ?? 'waiting'), patienceMs);
    });
    try {
      return await Promise.race([asking, late]);
    } finally {
      clearTimeout(timer);
    }
  };
}
