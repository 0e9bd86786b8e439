export interface Random {
  /** From `low` to `high`, both included. */
  between: (low: number, high: number) => number;
  chance: (probability: number) => boolean;
  pick: <T>(items: readonly T[]) => T;
  text: (length: number, alphabet: string) => string;
}

/** The same seed gives the same values (mulberry32); each salt gives another sequence. */
export function seededRandom(seed: number, salt = 0): Random {
  let state = (seed ^ Math.imul(salt, 0x9e3779b1)) | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    between,
    chance: (probability) => next() < probability,
    pick: (items) => items[between(0, items.length - 1)]!,
    text: (length, alphabet) =>
      Array.from({ length }, () => alphabet[between(0, alphabet.length - 1)]).join(''),
  };
}

export const digits = '0123456789';
const hex = '0123456789abcdef';

/** As patients and doctors have. */
export const personId = (random: Random) => random.pick(['1', '2', '6', '7']) + random.text(14, digits);

/** As clinics, clients and prescriptions have. */
export const hexId = (random: Random) => random.text(24, hex);

export const uuid = (random: Random) => [8, 4, 4, 4, 12].map((length) => random.text(length, hex)).join('-');
