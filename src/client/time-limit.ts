/** The work took longer than its limit. */
export class TimeLimit extends Error {
  override readonly name = 'TimeLimit';
  readonly milliseconds: number;

  constructor(milliseconds: number) {
    super(`no end within ${milliseconds} ms`);
    this.milliseconds = milliseconds;
  }
}

/**
 * Runs work that ends, at the latest, after `milliseconds` (raises TimeLimit) or when the outer signal
 * aborts (raises its reason), even if the work itself ignores its signal.
 */
export async function within<T>(
  milliseconds: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  // Not AbortSignal.any over AbortSignal.timeout: Node 20 may collect that pair before it fires.
  const controller = new AbortController();
  const { signal } = controller;
  const forward = () => controller.abort(outer?.reason);
  outer?.addEventListener('abort', forward, { once: true });
  const timer = setTimeout(() => controller.abort(new TimeLimit(milliseconds)), milliseconds);
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
