const word = /[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}._@+-]*/gu;
const part = /[\p{L}\p{M}\p{N}]+/gu;
const trailing = /[._@+-]+$/;

// A longer one is encoded content, and no id.
const longest = 100;
/** A part of a word that is shorter could be any number, such as a day in a date. */
const distinctive = 6;
/** A body with more is searched as far as this. */
const most = 10_000;

const escaped = /\\u([\da-f]{4})|\\./gi;

/** The text without the escapes of JSON, which need not be valid: a word never ends in the middle of one. */
const unescaped = (json: string) =>
  json.includes('\\')
    ? json.replace(escaped, (_, code?: string) =>
        code ? String.fromCharCode(Number.parseInt(code, 16)) : ' ',
      )
    : json;

/** Leading zeros and case do not matter. */
const normal = (text: string) => text.replace(/^0+(?=\d+$)/, '');

/**
 * The words of a body or of an id, each once: case and leading zeros aside. What is joined by a dot, a hyphen and so on is one
 * word; so are its long parts. A body need not be valid JSON.
 */
export function wordsOf(text: string): string[] {
  const words = new Set<string>();
  for (const [found] of unescaped(text).toLowerCase().matchAll(word)) {
    if (words.size >= most) break;
    if (found.length > longest) continue;
    const whole = found.replace(trailing, '');
    words.add(normal(whole));
    const parts = whole.match(part) ?? [];
    if (parts.length > 1) for (const one of parts) if (one.length >= distinctive) words.add(normal(one));
  }
  return [...words];
}

/** The words of which a body that contains an id has each. */
export const wordsOfId = (id: string): string[] => {
  const words = Array.from(id.toLowerCase().matchAll(word), ([found]) => normal(found.replace(trailing, '')));
  return [...new Set(words.filter((one) => one.length <= longest))];
};
