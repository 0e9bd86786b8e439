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
