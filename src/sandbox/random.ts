export type Random = ReturnType<typeof seededRandom>;

/** The same seed gives the same values (mulberry32); each salt gives another sequence. */
export function seededRandom(seed: number, salt = 0) {
  let state = (seed ^ Math.imul(salt, 0x9e3779b1)) | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** An integer from `low` to `high`, both included. */
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    between,
    /** True with this probability, 0 to 1. */
    chance: (probability: number) => next() < probability,
    pick: <T>(items: readonly T[]) => items[between(0, items.length - 1)]!,
    /** A string of `length` characters of the alphabet. */
    text: (length: number, alphabet: string): string =>
      Array.from({ length }, () => alphabet[between(0, alphabet.length - 1)]).join(''),
  };
}
