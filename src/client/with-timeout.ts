export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

/**
 * Runs work that ends after `timeoutMs` at the latest (raises TimedOut), or when the outer signal aborts (raises its
 * reason), even if the work ignores its signal.
 */
export async function withTimeout<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  // Not AbortSignal.any over AbortSignal.timeout: Node 20 may collect that pair before it fires.
  const controller = new AbortController();
  const { signal } = controller;
  const forward = () => controller.abort(outer?.reason);
  outer?.addEventListener('abort', forward, { once: true });
  const timedOut = () => controller.abort(new TimedOut(`timed out after ${timeoutMs} ms`));
  const timer = setTimeout(timedOut, timeoutMs);
  try {
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    return await Promise.race([work(signal), aborted]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', forward);
  }
}
