// The frequency of letters in English, in percent. Names of other languages are closer to it than random text.
const letters =
  'e12 t9.1 a8.1 o7.7 i7.3 n7 s6.3 r6 h5.9 d4.3 l4 u2.9 c2.7 m2.6 f2.3 y2.1 w2.1 g2 p1.8 b1.5 v1.1 k.7 x.2 q.1 j.1 z.1';
const frequency = new Map(letters.split(' ').map((entry) => [entry[0]!, Number(entry.slice(1)) / 100]));

type Kind = 'start' | 'small' | 'capital' | 'digit' | 'sign';

// Which kind of character follows which in a name: words stay in one case, numbers stand together.
const follows: Record<Kind, Record<Exclude<Kind, 'start'>, number>> = {
  start: { small: 0.6, capital: 0.25, digit: 0.1, sign: 0.05 },
  small: { small: 0.8, capital: 0.05, digit: 0.05, sign: 0.1 },
  capital: { small: 0.6, capital: 0.3, digit: 0.05, sign: 0.05 },
  digit: { small: 0.1, capital: 0.05, digit: 0.6, sign: 0.25 },
  sign: { small: 0.65, capital: 0.15, digit: 0.19, sign: 0.01 },
};

function kindOf(character: string | undefined): Kind {
  if (character === undefined) return 'start';
  if (/[a-z]/.test(character)) return 'small';
  if (/[A-Z]/.test(character)) return 'capital';
  return /\d/.test(character) ? 'digit' : 'sign';
}

function probabilityInName(character: string, before: string | undefined): number {
  const kind = kindOf(character) as Exclude<Kind, 'start'>;
  const among = { digit: 1 / 10, sign: 1 / 4 }[kind as 'digit' | 'sign'];
  return follows[kindOf(before)][kind] * (among ?? frequency.get(character.toLowerCase())!);
}

/** How much likelier it is, in bits, that a text is random, from an alphabet of this size, than that it is a name. */
function bitsForRandom(text: string, alphabet: number): number {
  // A word in capitals is a word.
  const name = text.replace(/(?<![A-Za-z])[A-Z]{2,}(?![a-z])/g, (word) => word.toLowerCase());
  return [...name]
    .map((character, at) => -Math.log2(probabilityInName(character, name[at - 1]) * alphabet))
    .reduce((sum, bits) => sum + bits, 0);
}

/** Whether three quarters of a text repeat, or count up or down from, the characters before. */
function isPattern(text: string): boolean {
  const code = (at: number) => text.charCodeAt(at);
  const follows = [...text].filter((_, at) => {
    if (at === 0) return false;
    const isStep =
      Math.abs(code(at) - code(at - 1)) <= 1 || (at > 1 && Math.abs(code(at) - code(at - 2)) <= 1);
    return isStep || text.slice(0, at).includes(text.slice(at - 1, at + 1));
  });
  return follows.length >= 0.75 * text.length;
}

/** The fewest characters of a secret. */
export const shortestSecret = 16;
/** Of neighbouring characters. One random text of 16 decimal digits in thirty thousand has fewer, of hex digits none. */
const fewestPairs = 9;

/** Why a secret can be guessed, as the rest of a sentence; undefined: it is neither short nor a repetition. */
export function weaknessOf(secret: string): string | undefined {
  if (secret.length < shortestSecret) return `must have at least ${shortestSecret} characters`;
  const pairs = new Set([...secret].slice(1).map((character, at) => secret[at] + character));
  if (pairs.size >= fewestPairs) return undefined;
  return 'must not repeat a few characters: use the output of `openssl rand -hex 32`';
}

const uuid = /(?<![\da-z])[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}(?![\da-z])/gi;
const hex = /(?<![\da-z])(?:[\da-f]{24,}|[\dA-F]{24,})(?![\da-z])/gi;
const base64url = /(?<![\dA-Za-z])(?=([\w.~-]{22,}))/g;

/**
 * Whether a path holds a random token: a UUID of version 4, at least 24 hex digits, or at least 22 characters of
 * base64url, none of them a pattern, and none likelier to be made of words, numbers and dates. The check is
 * deterministic; it takes fewer than one in a thousand random texts of 22 characters for a name.
 */
export function isUnguessable(path: string): boolean {
  return path.split('/').some((part) => {
    const found = (pattern: RegExp, group = 0) => [...part.matchAll(pattern)].map((match) => match[group]!);
    return (
      found(uuid).some((text) => !isPattern(text.replaceAll('-', ''))) ||
      found(hex).some((text) => !isPattern(text) && bitsForRandom(text, 16) > 0) ||
      found(base64url, 1).some((text) => !isPattern(text) && bitsForRandom(text, 64) > -4)
    );
  });
}

/** A path that may be shown: without its random tokens. */
export const withoutSecrets = (path: string): string =>
  path
    .split('/')
    .map((part) => (isUnguessable(part) ? '…' : part))
    .join('/');
