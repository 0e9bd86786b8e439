import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { canonicalJson, Decimal, withDecimals } from './exact-json.ts';

const mark = '[redacted]';
// A one-time password, and the keys of an exchange of health records.
const names = 'token|key[-_. ]?information';
const key = new RegExp(`^(?:${names})$`, 'i');
// An escape may hide a key.
const maybe = new RegExp(`${names}|\\\\`, 'i');
// In a text that is JSON itself.
const nested = new RegExp(`"(?:${names})\\\\*"\\s*:`, 'i');
// Only callbacks about health accounts have some.
const mayHaveSecrets = (event: string) => /^\W*abha/i.test(event);

/** The body of a valid callback without the values of secret keys, at any depth. */
export const withoutSecrets = (body: Buffer, event: string): Buffer =>
  mayHaveSecrets(event) ? redacted(body) : body;

/** A binary body becomes its size and hash, and so does what is no JSON and may have a secret key. */
export function rejectedWithoutSecrets(body: Buffer): Buffer {
  const sizeAndHash = Buffer.from(`${body.length} bytes that are no JSON, SHA-256 ${hash('sha256', body)}`);
  if (!isUtf8(body) || body.includes(0)) return sizeAndHash;
  try {
    const { event, event_type } = (JSON.parse(body.toString()) ?? {}) as Record<string, unknown>;
    const events = [event, event_type].filter((name) => name !== undefined && name !== null);
    if (events.length > 0 && events.every((name) => typeof name === 'string' && !mayHaveSecrets(name)))
      return body;
    return redacted(body);
  } catch {
    return maybe.test(body.toString()) ? sizeAndHash : body;
  }
}

/** @throws RangeError if it is nested too deeply */
function redacted(body: Buffer): Buffer {
  const json = body.toString();
  return maybe.test(json) ? Buffer.from(canonicalJson(redact(parseRejected(json)))) : body;
}

/** @throws SyntaxError */
export function parseRejected(json: string): unknown {
  const value = JSON.parse(json);
  return json.includes('\\u0000') ? value : withDecimals(json, value);
}

function redact(value: unknown): unknown {
  if (typeof value === 'string') return nested.test(value) ? mark : value;
  if (typeof value !== 'object' || value === null || value instanceof Decimal) return value;
  if (Array.isArray(value)) return value.map(redact);
  const entries = Object.entries(value).map(([name, inner]) => [name, key.test(name) ? mark : redact(inner)]);
  return Object.fromEntries(entries);
}
