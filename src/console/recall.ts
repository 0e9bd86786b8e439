const maxKept = 100;
const keptMs = 600_000;

/** Keeps what was read for ten minutes: sums of days that are over, which take long to add up and seldom change. */
export function createRecall<T>() {
  const kept = new Map<string, { at: number; value: Promise<T> }>();
  return (key: string, read: () => Promise<T>): Promise<T> => {
    const found = kept.get(key);
    if (found && found.at > Date.now() - keptMs) return found.value;
    const value = read();
    kept.delete(key);
    kept.set(key, { at: Date.now(), value });
    value.catch(() => kept.delete(key));
    if (kept.size > maxKept) kept.delete(kept.keys().next().value!);
    return value;
  };
}
