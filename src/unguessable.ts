const uuid = /[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}/g;
const hex = /(?<![\da-z])[\da-f]{24,}(?![\da-z])/g;

/**
 * Whether a path holds a random token: at least 24 hex digits, or a UUID of version 4. Words, dates and patterns
 * can be guessed.
 */
export function isUnguessable(path: string): boolean {
  const text = path.toLowerCase().replace(uuid, (id) => id.replaceAll('-', ''));
  return (text.match(hex) ?? []).some(isRandom);
}

/**
 * Patterns repeat the differences between neighbouring digits. Of 24 random digits about 17 differences are
 * distinct; fewer than 11 are in one of 10,000 random tokens.
 */
function isRandom(token: string): boolean {
  const codes = Buffer.from(token.slice(0, 24));
  return new Set(codes.subarray(1).map((code, at) => code - codes[at]!)).size >= 11;
}
