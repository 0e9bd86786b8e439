/**
 * How far a destination has come. Changes are settled in any order; the cursor follows once all before it are.
 */
export function createProgress() {
  const pages: { next: string; open: number }[] = [];
  let moved: string | undefined;
  const follow = () => {
    while (pages[0]?.open === 0) moved = pages.shift()!.next;
  };
  return {
    /**
     * Adds a page, with the cursor behind it.
     *
     * @returns a function to call for each of its changes, once it is settled
     */
    begin: (changes: number, next: string): (() => void) => {
      const page = { next, open: changes };
      pages.push(page);
      follow();
      return () => {
        page.open -= 1;
        follow();
      };
    },
    /** The cursor, if it has moved since the last call. */
    take: (): string | undefined => {
      const cursor = moved;
      moved = undefined;
      return cursor;
    },
  };
}

/**
 * Runs tasks about the same key one after the other, and others at the same time.
 */
export function createTurns() {
  const last = new Map<string, Promise<void>>();
  return {
    /** Whether a task about it runs or waits. */
    has: (key: string): boolean => last.has(key),
    /** @param run gets whether it had to wait for another */
    take: (key: string, run: (hasWaited: boolean) => Promise<void>): Promise<void> => {
      const previous = last.get(key);
      const turn = previous ? previous.then(() => run(true)) : run(false);
      last.set(key, turn);
      const end = () => {
        if (last.get(key) === turn) last.delete(key);
      };
      turn.then(end, end);
      return turn;
    },
  };
}
