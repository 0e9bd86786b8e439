import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

export type Random = ReturnType<typeof seededRandom>;

/** The same seed gives the same values; each salt gives an independent sequence. */
export function seededRandom(seed: number, salt = 0) {
  const generator = xoroshiro128plus((seed ^ Math.imul(salt, 0x9e3779b1)) | 0);
  /** An integer from `low` to `high`, both included. */
  const between = (low: number, high: number) => uniformInt(generator, low, high);
  return {
    between,
    /** True with this probability, 0 to 1. */
    chance: (probability: number) => between(0, 0x3fffffff) < probability * 0x40000000,
    pick: <T>(items: readonly T[]) => items[between(0, items.length - 1)]!,
    /** A string of `length` characters of the alphabet. */
    text(length: number, alphabet: string): string {
      let text = '';
      for (let i = 0; i < length; i++) text += alphabet[between(0, alphabet.length - 1)];
      return text;
    },
  };
}

/** Removes an item; the last one takes its place. */
export function removeAt<T>(items: T[], place: number): T {
  const removed = items[place]!;
  items[place] = items.at(-1)!;
  items.pop();
  return removed;
}
