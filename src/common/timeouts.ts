import { setTimeout as sleep } from 'node:timers/promises';

/** Ends also work that ignores its signal. @throws the error of `createError` after the time; the reason of `outer`; the work's error */
export async function withDeadline<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
  createError: () => Error = () => new DOMException(`No response within ${timeoutMs} ms.`, 'TimeoutError'),
): Promise<T> {
  outer?.throwIfAborted();
  // Not AbortSignal.any over AbortSignal.timeout: Node 20 may collect that pair before it fires.
  const ending = new AbortController();
  const { signal } = ending;
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  const forward = () => ending.abort(outer?.reason);
  outer?.addEventListener('abort', forward);
  const timer = setTimeout(() => ending.abort(createError()), timeoutMs);
  try {
    return await Promise.race([work(signal), ended]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', forward);
  }
}

/** @throws the error of `createError` after the time; the promise's own error */
export const withTimeout = <T>(
  timeoutMs: number,
  promise: Promise<T>,
  createError = () => new Error(`No response within ${timeoutMs} ms.`),
): Promise<T> => withDeadline(timeoutMs, undefined, () => promise, createError);

/** Ends early when the signal is aborted. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {});

/** A Retry-After header (seconds or a date, RFC 9110) in milliseconds. */
export function retryAfterMs(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Calls within some time share a result, or an error. */
export function shareFor<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let readAt = Number.NEGATIVE_INFINITY;
  let last: Promise<T>;
  return () => {
    if (performance.now() - readAt >= ms) {
      readAt = performance.now();
      last = read();
    }
    return last;
  };
}
