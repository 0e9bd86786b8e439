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
// In a body that is no JSON; the parameter of an address is no key.
const mentioned = new RegExp(`(?<![a-z\\d?&])(?:${names})(?=\\W*[:=])`, 'i');

// Only callbacks about health accounts have some.
const mayHaveSecrets = (event: string) => /^\W*abha/i.test(event);

/** The body of a valid callback without the values of secret keys, at any depth. */
export const withoutSecrets = (body: Buffer, event: string): Buffer =>
  mayHaveSecrets(event) ? redacted(body) : body;

/** A binary body becomes its size and hash; what is no JSON ends behind the first secret key. */
export function rejectedWithoutSecrets(body: Buffer): Buffer {
  if (!isUtf8(body) || body.includes(0))
    return Buffer.from(`${body.length} bytes that are no text, SHA-256 ${hash('sha256', body)}`);
  try {
    const { event, event_type } = (JSON.parse(body.toString()) ?? {}) as Record<string, unknown>;
    const events = [event, event_type].filter((name) => name !== undefined && name !== null);
    if (events.length > 0 && events.every((name) => typeof name === 'string' && !mayHaveSecrets(name)))
      return body;
    return redacted(body);
  } catch {
    return withoutEnd(body);
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

/** @param body no JSON, or nested too deeply */
function withoutEnd(body: Buffer): Buffer {
  const text = unescaped(body.toString());
  const match = mentioned.exec(text);
  return match ? Buffer.from(text.slice(0, match.index) + match[0] + mark) : body;
}

/** The text without the escapes of JSON and of forms, which need not be valid. */
const unescaped = (text: string) =>
  text.replace(/\\u([\da-f]{4})|%([\da-f]{2})|\\./gi, (_, code?: string, ofForm = code) =>
    ofForm ? String.fromCharCode(Number.parseInt(ofForm, 16)) : ' ',
  );
