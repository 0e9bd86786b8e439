/**
 * Returns a function that runs others, some at the same time, in the order of the calls.
 *
 * @param most that run at the same time
 * @param mostWaiting further ones get the error
 */
export function createTurns(most: number, mostWaiting: number, tooMany: () => Error) {
  const queue: (() => void)[] = [];
  let running = 0;
  return async <T>(run: () => Promise<T>): Promise<T> => {
    if (running >= most) {
      if (queue.length >= mostWaiting) throw tooMany();
      await new Promise<void>((resolve) => queue.push(resolve));
    } else {
      running += 1;
    }
    try {
      return await run();
    } finally {
      // The next one takes the place of this one.
      const next = queue.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
