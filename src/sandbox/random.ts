import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Chance that repeats itself for the same seed. */
export interface Random {
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  /** True with this probability, 0 to 1. */
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** A string of `length` characters of the alphabet. */
  text(length: number, alphabet: string): string;
}

/** Chance from a seed; the salt gives another independent sequence for the same seed. */
export function seededRandom(seed: number, salt = 0): Random {
  const generator = xoroshiro128plus((seed ^ Math.imul(salt, 0x9e3779b1)) | 0);
  const between = (low: number, high: number) => uniformInt(generator, low, high);
  return {
    between,
    chance: (probability) => between(0, 0x3fffffff) < probability * 0x40000000,
    pick: (items) => items[between(0, items.length - 1)] as (typeof items)[number],
    text: (length, alphabet) => {
      let text = '';
      for (let i = 0; i < length; i++) text += alphabet[between(0, alphabet.length - 1)];
      return text;
    },
  };
}
