/**
 * Waits for an answer, for so many milliseconds at most.
 *
 * @throws Error if it is late, or the answer's own error
 */
export async function within<T>(milliseconds: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('late')), milliseconds);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
