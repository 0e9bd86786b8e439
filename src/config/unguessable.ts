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

export const shortestSecret = 16;
/** The fewest different pairs of neighbours. One random text of 16 decimal digits in thirty thousand has fewer, none of hex digits. */
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

/** The longest average of words, numbers and single characters: in random base64url it is two, in names five. */
const accepted = 3.5;
/** A token that is not accepted as one is still not shown. */
const hidden = 5;

/** Whether small letters, capitals and digits are mixed as no words, numbers and dates are, however they are joined. */
function isMixed(text: string, longestAverage: number): boolean {
  const characters = text.replace(/[^A-Za-z\d]/g, '');
  const parts = characters.match(/[A-Z]?[a-z]+|[A-Z]+|\d+/g) ?? [];
  return characters.length <= longestAverage * parts.length;
}

function hasToken(part: string, longestAverage: number): boolean {
  const found = (pattern: RegExp, group = 0) => [...part.matchAll(pattern)].map((match) => match[group]!);
  return (
    found(uuid).some((text) => !isPattern(text.replaceAll('-', ''))) ||
    found(hex).some((text) => !isPattern(text) && /[a-f]/i.test(text)) ||
    found(base64url, 1).some((text) => !isPattern(text) && isMixed(text, longestAverage))
  );
}

/**
 * Whether a path holds a random token: a UUID of version 4, at least 24 hex digits with letters among them, or at least
 * 22 characters of base64url in which small letters, capitals and digits are mixed; none of them a pattern. Fewer than
 * one in a hundred random texts of 22 characters are not recognised.
 */
export const isUnguessable = (path: string): boolean =>
  path.split('/').some((part) => hasToken(part, accepted));

/** A path that may be shown: without its random tokens, and without what may be one. */
export const withoutSecrets = (path: string): string =>
  path
    .split('/')
    .map((part) => (hasToken(part, hidden) ? '…' : part))
    .join('/');
