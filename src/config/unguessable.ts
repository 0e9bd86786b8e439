const shortestSecret = 16;
/** The fewest different pairs of neighbours. One random text of 16 decimal digits in thirty thousand has fewer, none of hex digits. */
const fewestPairs = 9;

const pairsOf = (text: string) =>
  new Set([...text].slice(1).map((character, at) => text[at] + character)).size;

/** Why a secret can be guessed, as the rest of a sentence; undefined: it is neither short nor a repetition. */
export function weaknessOf(secret: string): string | undefined {
  if (secret.length < shortestSecret) return `must have at least ${shortestSecret} characters`;
  if (pairsOf(secret) >= fewestPairs) return undefined;
  return 'must not repeat a few characters: use the output of `openssl rand -hex 32`';
}

const isToken = (segment: string) => /^[\w.~-]{22,}$/.test(segment) && pairsOf(segment) >= fewestPairs;

/** Whether a segment of a path has 22 or more URL-safe characters. */
export const isUnguessable = (path: string): boolean => path.split('/').some(isToken);
