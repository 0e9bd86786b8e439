import { isUtf8 } from 'node:buffer';
import { canonicalJson } from './canonical-json.ts';
import { Decimal, withDecimals } from './decimal.ts';

const mark = '[redacted]';
// A one-time password, and the keys of an exchange of health records.
const names = 'token|key[-_. ]?information';
const key = new RegExp(`^(?:${names})$`, 'i');
/** Only JSON with these is searched: an escape may hide a key. */
const maybe = new RegExp(`${names}|\\\\`, 'i');
/** In a text that is JSON itself. */
const nested = new RegExp(`"(?:${names})\\\\*"\\s*:`, 'i');
/** In a body that is no JSON; the parameter of an address is no key. */
const mentioned = new RegExp(`(?<![a-z\\d?&])(?:${names})(?=\\W*[:=])`, 'i');

/** Whether a callback is about a health account: others are not searched. */
const mayHaveSecrets = (event: string) => /^\W*abha/i.test(event);

/** The body of a valid callback without the values of secret keys, at any depth. */
export const withoutSecrets = (body: Buffer, event: string): Buffer =>
  mayHaveSecrets(event) ? redacted(body) : body;

/** A rejected body without secrets. What is no JSON ends behind the first secret key: nothing tells where its value ends. */
export function rejectedWithoutSecrets(body: Buffer): Buffer {
  try {
    if (!isUtf8(body)) return withoutEnd(body);
    const { event, event_type } = (JSON.parse(body.toString()) ?? {}) as Record<string, unknown>;
    const events = [event, event_type].filter((one) => one !== undefined && one !== null);
    if (events.length > 0 && events.every((one) => typeof one === 'string' && !mayHaveSecrets(one)))
      return body;
    return redacted(body);
  } catch {
    // No JSON, or nested too deeply.
    return withoutEnd(body);
  }
}

/** @throws RangeError if it is nested too deeply */
function redacted(body: Buffer): Buffer {
  const json = body.toString();
  if (!maybe.test(json)) return body;
  const value = JSON.parse(json);
  return Buffer.from(canonicalJson(redact(json.includes('\\u0000') ? value : withDecimals(json, value))));
}

function redact(value: unknown): unknown {
  if (typeof value === 'string') return nested.test(value) ? mark : value;
  if (typeof value !== 'object' || value === null || value instanceof Decimal) return value;
  if (Array.isArray(value)) return value.map(redact);
  const entries = Object.entries(value).map(([name, inner]) => [name, key.test(name) ? mark : redact(inner)]);
  return Object.fromEntries(entries);
}

/** Zero bytes and escapes may hide a key: UTF-16 that is read as UTF-8. */
function withoutEnd(body: Buffer): Buffer {
  const encoding = isUtf8(body) ? 'utf8' : 'latin1';
  const text = unescaped(body.toString(encoding).replaceAll('\0', ''));
  const found = mentioned.exec(text);
  return found ? Buffer.from(text.slice(0, found.index) + found[0] + mark, encoding) : body;
}

/** The text without the escapes of JSON, which need not be valid. */
const unescaped = (json: string) =>
  json.replace(/\\u([\da-f]{4})|\\./gi, (_, code?: string) =>
    code ? String.fromCharCode(Number.parseInt(code, 16)) : ' ',
  );
