import { parseRejected } from './cut-secrets.ts';
import { Decimal } from './exact-json.ts';

/** In place of a value that the reader may not see. */
export const hidden = '•••';

/** Where a text has contents of health records. */
export const contents = /(?<![a-z\d])entries["\\]*\s*[:=]/i;

/** Parsed JSON without the contents of health records, which nobody may see: also of JSON inside of a text. */
export function withoutContents(value: unknown): unknown {
  if (typeof value === 'string') return contents.test(value) ? hidden : value;
  if (typeof value !== 'object' || value === null || value instanceof Decimal) return value;
  if (Array.isArray(value)) return value.map(withoutContents);
  const kept = Object.entries(value).filter(([key]) => key.toLowerCase() !== 'entries');
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutContents(inner)]));
}

const readable = (_key: string, value: unknown) =>
  value instanceof Decimal ? (value.plain() ?? value.canonical) : value;

/** A body without the contents of health records. */
export function readableBody(body: string): string {
  try {
    return JSON.stringify(withoutContents(parseRejected(body)), readable, 2);
  } catch {
    const at = body.search(contents);
    return at === -1 ? body : body.slice(0, at) + hidden;
  }
}
