import { escapeRegExp } from '../common/plain-text.ts';

const maxBody = 500;
const maxScanned = 4000;

/**
 * The beginning of a response body, without values of the request, JWTs, signing keys, addresses and numbers of six digits or
 * more, however grouped: a platform that echoes the request or masks badly must not put an Aadhaar-linked number into a log.
 */
export function redact(body: string, secrets: readonly string[]): string {
  const json = parseJson(body);
  // JSON may write a character as \uXXXX; writing it again leaves one spelling to look for.
  let text = json === undefined ? body : JSON.stringify(json);
  // Removing a short secret inside a longer one would leave the rest of the longer one.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length)) {
    const inPath = encodeURIComponent(secret.toWellFormed());
    const inQuery = new URLSearchParams([['', secret]]).toString().slice(1);
    for (const form of [secret, inPath, inQuery, JSON.stringify(secret).slice(1, -1)])
      text = text.replace(new RegExp(escapeRegExp(form), 'gi'), '[redacted]');
  }
  const cut = text.length > maxScanned;
  text = text
    // The patterns below take quadratic time on a long run of one kind.
    .slice(0, maxScanned)
    .replace(/(signing_key\\*"\s*:\s*\\*")[^"\\]*/g, '$1[redacted]')
    .replace(/((?:(?:day|month|year)_of_birth|gender)\\*"\s*:\s*)[^,}]*/g, '$1[redacted]')
    .replace(/eyJ[\w-]+(?:\.[\w-]*)*/g, '[redacted]')
    .replace(/\d(?:[\s.()-]{0,2}\d){5,}/g, '[number]')
    .replace(/[^\s"@:,<>]+@[^\s"@:,<>]+/g, '[address]');
  // The cut may have left a piece of a number, too short to be recognised.
  if (cut) text = text.replace(/[\d\s.()-]+$/, '');
  return text.length > maxBody ? `${text.slice(0, maxBody)}…` : text;
}

/** The strings of a request that redact() removes; texts of one or two letters (a gender) identify nobody. */
export function secretsOf(value: unknown): string[] {
  if (typeof value === 'number') return secretsOf(String(value)).filter((digits) => digits.length > 2);
  if (typeof value === 'string') return value.length > 2 || /^\d+$/.test(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(secretsOf);
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not the parser's own error: it quotes the text.
    return undefined;
  }
}
