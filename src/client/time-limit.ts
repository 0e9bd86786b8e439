/**
 * Runs work that ends after `timeoutMs` at the latest, even if it ignores its signal.
 *
 * @throws the error of `timedOut`; the reason of the outer signal; the work's own
 */
export async function withTimeout<T>(
  timeoutMs: number,
  timedOut: (message: string) => Error,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  // Not AbortSignal.any over AbortSignal.timeout: Node 20 may collect that pair before it fires.
  const controller = new AbortController();
  const { signal } = controller;
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  const forward = () => controller.abort(outer?.reason);
  outer?.addEventListener('abort', forward);
  const end = () => controller.abort(timedOut(`timed out after ${timeoutMs} ms`));
  const timer = setTimeout(end, timeoutMs);
  try {
    return await Promise.race([work(signal), aborted]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', forward);
  }
}
