import { integerOf } from './decimals.ts';

const word = /[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}._@+-]*/gu;
const part = /[\p{L}\p{M}\p{N}]+/gu;
const separators = /[._@+-]/g;
const trailing = /[._@+-]+$/;

// A longer one is encoded content, and no id.
const longest = 100;
/** A part of a word that is shorter could be any number, such as a day in a date. */
const distinctive = 6;
const digits = new RegExp(`\\d{${distinctive},}`, 'g');
const isDigits = new RegExp(`^\\d{${distinctive},}$`);
const withExponent = /^\d+(?:\.\d+)?e[+-]?\d+$/;
/** A body with more is searched as far as this. */
const most = 10_000;

const escaped = /\\u([\da-f]{4})|\\./gi;

/** The text without the escapes of JSON, which need not be valid: a word never ends in the middle of one. */
export const unescaped = (json: string) =>
  json.includes('\\')
    ? json.replace(escaped, (_, code?: string) =>
        code ? String.fromCharCode(Number.parseInt(code, 16)) : ' ',
      )
    : json;

/** Escapes of an address, also where an address is a parameter of another. */
const percent = /%(?:25)*([\da-f]{2})/gi;

const withoutPercent = (text: string) =>
  text.includes('%')
    ? text.replace(percent, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : text;

// Zero bytes: UTF-16 that is read as UTF-8.
const invisible = /[\0\p{Cf}]/gu;
const isPlain = /^[\t\r\n -~]*$/;

/** The text as a reader sees it, in lower case: without invisible characters, and with wide digits as narrow ones. */
const shown = (text: string) =>
  (isPlain.test(text) ? text : text.normalize('NFKC').replace(invisible, '')).toLowerCase();

/** Leading zeros and case do not matter. */
const normal = (text: string) => text.replace(/^0+(?=\d+$)/, '');

/**
 * The words of a body or of an id, each once: case and leading zeros aside. What is joined by a dot, a hyphen and so on is one
 * word; so are its long parts, its long numbers, and a number that it writes in groups or with an exponent. A body need not be
 * valid JSON.
 */
export function wordsOf(text: string): string[] {
  const words = new Set<string>();
  for (const [found] of shown(withoutPercent(unescaped(text))).matchAll(word)) {
    if (words.size >= most) break;
    if (found.length > longest) continue;
    const whole = found.replace(trailing, '');
    words.add(normal(whole));
    const parts = whole.match(part) ?? [];
    if (parts.length > 1) {
      for (const one of parts) if (one.length >= distinctive) words.add(normal(one));
      const number = withExponent.test(whole) ? integerOf(whole) : whole.replace(separators, '');
      if (isDigits.test(number)) words.add(normal(number));
    } else if (withExponent.test(whole)) words.add(normal(integerOf(whole)));
    for (const number of whole.match(digits) ?? []) words.add(normal(number));
  }
  return [...words];
}

/** The lists of words of an id: a body that contains it has all words of one list. */
export function wordsOfId(id: string): string[][] {
  const words = Array.from(shown(id).matchAll(word), ([found]) => normal(found.replace(trailing, '')));
  const short = [...new Set(words.filter((one) => one.length <= longest))];
  if (short.length === 0) return [];
  const number = words.length === 1 ? words[0]!.replace(separators, '') : '';
  return number !== words[0] && isDigits.test(number) ? [short, [normal(number)]] : [short];
}
