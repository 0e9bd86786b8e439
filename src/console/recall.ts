const maxKept = 100;

/** Keeps what was read for some time, unless it is undefined: sums of days that are over, which take long to add up and seldom change. */
export function createRecall<T>(keptMs: number) {
  const kept = new Map<string, { at: number; value: Promise<T> }>();
  return (key: string, read: () => Promise<T>): Promise<T> => {
    const found = kept.get(key);
    if (found && found.at > Date.now() - keptMs) return found.value;
    const value = read();
    kept.delete(key);
    kept.set(key, { at: Date.now(), value });
    const forget = () => kept.delete(key);
    value.then((result) => result === undefined && forget(), forget);
    if (kept.size > maxKept) kept.delete(kept.keys().next().value!);
    return value;
  };
}
