import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits for a promise with a timeout.
 *
 * @param createError creates the timeout's error
 * @throws that error, or the promise's own
 */
export async function withTimeout<T>(
  timeoutMs: number,
  promise: Promise<T>,
  createError: () => Error = () => new Error(`No response within ${timeoutMs} ms.`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(createError()), timeoutMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Does work with a signal that is aborted after a time, as a TimeoutError, or with another one. Not AbortSignal.any over
 * AbortSignal.timeout: Node 20 may collect that pair before it fires.
 *
 * @throws the work's error; the reason of the other signal, if it is aborted before
 */
export async function withDeadline<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  const ending = new AbortController();
  const end = () => ending.abort(new DOMException(`No response within ${timeoutMs} ms.`, 'TimeoutError'));
  const timer = setTimeout(end, timeoutMs);
  outer?.addEventListener('abort', end);
  try {
    return await work(ending.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', end);
  }
}

/** A pause that ends early when the signal is aborted. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {});
