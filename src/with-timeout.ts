/**
 * Waits for a promise, for so many milliseconds at most.
 *
 * @param late makes the error of the time-out
 * @throws that error, or the promise's own
 */
export async function withTimeout<T>(
  timeoutMs: number,
  promise: Promise<T>,
  late: () => Error = () => new Error(`No response within ${timeoutMs} ms.`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), timeoutMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
