/**
 * Waits for an answer, for so many milliseconds at most.
 *
 * @param late makes the error that is raised when it is late
 * @throws that error, or the answer's own
 */
export async function within<T>(
  milliseconds: number,
  answer: Promise<T>,
  late: () => Error = () => new Error('late'),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), milliseconds);
  });
  try {
    return await Promise.race([answer, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
