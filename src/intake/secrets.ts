import { isUtf8 } from 'node:buffer';
import { findEventTime, saysNothing } from '../families/event-time.ts';
import { isIsoTime } from '../families/iso-time.ts';
import { withDecimals } from '../receiver/intake/decimal.ts';
import { findUnstorable } from '../receiver/intake/unstorable.ts';
import { identify } from './identity.ts';

const mark = '[redacted]';

// The secrets of callbacks about health accounts: a one-time password, and the keys of an exchange of health records.
const secrets = keysNamed('token|key[-_. ]?information');
/** The content of health records, which are stored. */
const healthRecords = keysNamed('content');

/** Whether a callback is about a health account: others are not searched. */
export const mayHaveSecrets = (event: string) => /^\W*abha/i.test(event);

/** The body of a valid callback without the values of secret keys, at any depth; the other bytes are as received. */
export function withoutSecrets(body: Buffer, event: string): Buffer {
  if (!mayHaveSecrets(event)) return body;
  const json = body.toString();
  const redacted = redactValues(json, secrets);
  return redacted === json ? body : Buffer.from(redacted);
}

/**
 * A rejected body without secrets: JSON without the values of their keys, unless its event is of another kind. What is no
 * JSON ends behind the first such key, because nothing tells where its value ends.
 *
 * @returns also the id of the delivery, which is made of the original; null: nothing was redacted, or it cannot be identified
 */
export function redactRejected(body: Buffer): { body: Buffer; deliveryId: string | null } {
  const { redacted, value } = redactAny(body, secrets);
  if (!redacted) return { body, deliveryId: null };
  return { body: redacted, deliveryId: value === undefined ? null : idOfOriginal(body.toString(), value) };
}

/** A callback or a rejected body as people may see it: nobody sees the content of health records. */
export const withoutHealthRecords = (body: Buffer | string): string =>
  String(redactAny(Buffer.from(body), healthRecords).redacted ?? body);

/** @returns `redacted`: undefined where nothing is; `value`: undefined where it is no JSON */
function redactAny(body: Buffer, keys: Keys): { redacted?: Buffer | undefined; value?: unknown } {
  const json = body.toString();
  let value: unknown;
  try {
    if (!isUtf8(body)) throw new SyntaxError();
    value = JSON.parse(json);
  } catch {
    return { redacted: withoutEnd(body, keys) };
  }
  const { event, event_type } = (value ?? {}) as Record<string, unknown>;
  const events = [event, event_type].filter((one) => one !== undefined && one !== null);
  const isOther = (one: unknown) => typeof one === 'string' && !mayHaveSecrets(one);
  if (events.length > 0 && events.every(isOther)) return { value };
  const redacted = redactValues(json, keys);
  return { redacted: redacted === json ? undefined : Buffer.from(redacted), value };
}

/** Null where its time cannot be read, or PostgreSQL would not store it. */
function idOfOriginal(json: string, value: unknown): string | null {
  if (findUnstorable(json, value).length > 0) return null;
  const envelope = withDecimals(json, value) as Parameters<typeof identify>[0] & { event_type?: string };
  const { event_time: time } = envelope;
  const isTime = typeof time === 'string' ? isIsoTime(time) : Number.isSafeInteger(time);
  // Callbacks about health accounts have no time of a change: none of the families is needed.
  const hasTime = saysNothing(time) ? findEventTime(envelope) !== undefined : isTime;
  return hasTime ? identify({ ...envelope, event: envelope.event ?? envelope.event_type! }) : null;
}

type Keys = ReturnType<typeof keysNamed>;

function keysNamed(names: string) {
  return {
    key: new RegExp(`^(?:${names})$`, 'i'),
    /** In a text that is JSON itself. */
    nested: new RegExp(`\\\\"(?:${names})\\\\+"\\s*:`, 'i'),
    /** In a body that is no JSON; the parameter of an address is no key. */
    mentioned: new RegExp(`(?<![a-z\\d?&])(?:${names})(?=\\W*[:=])`, 'i'),
  };
}

/** Zero bytes and escapes may hide a key: UTF-16 that is read as UTF-8. @returns undefined where it mentions none */
function withoutEnd(body: Buffer, { mentioned }: Keys): Buffer | undefined {
  const encoding = isUtf8(body) ? 'utf8' : 'latin1';
  const text = unescaped(body.toString(encoding).replaceAll('\0', ''));
  const found = mentioned.exec(text);
  return found ? Buffer.from(text.slice(0, found.index) + found[0] + mark, encoding) : undefined;
}

/** @param json valid JSON */
function redactValues(json: string, keys: Keys): string {
  let redacted = '';
  let copied = 0;
  const replace = (start: number, end: number) => {
    redacted += `${json.slice(copied, start)}"${mark}"`;
    copied = end;
    return end;
  };
  for (let at = json.indexOf('"'); at >= 0; at = json.indexOf('"', at)) {
    const end = endOfText(json, at);
    const text = json.slice(at, end);
    const colon = skipSpace(json, end);
    if (json[colon] !== ':') at = keys.nested.test(text) ? replace(at, end) : end;
    else if (!isKey(text, keys)) at = end;
    else {
      const start = skipSpace(json, colon + 1);
      at = replace(start, endOfValue(json, start));
    }
  }
  return redacted + json.slice(copied);
}

const longestKey = 200;

function isKey(text: string, { key }: Keys): boolean {
  if (text.length > longestKey) return false;
  return key.test(text.includes('\\') ? JSON.parse(text) : text.slice(1, -1));
}

function skipSpace(json: string, start: number): number {
  let at = start;
  while (json.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

function endOfText(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** The end of a value; of a number or word, where the next member begins or its object ends. */
function endOfValue(json: string, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at += 1) {
    const char = json[at]!;
    if (char === '"') {
      at = endOfText(json, at) - 1;
      if (depth === 0) return at + 1;
    } else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') {
      depth -= 1;
      if (depth < 0) return at;
      if (depth === 0) return at + 1;
    } else if (char === ',' && depth === 0) return at;
  }
  return json.length;
}

const escaped = /\\u([\da-f]{4})|\\./gi;

/** The text without the escapes of JSON, which need not be valid. */
const unescaped = (json: string) =>
  json.includes('\\')
    ? json.replace(escaped, (_, code?: string) =>
        code ? String.fromCharCode(Number.parseInt(code, 16)) : ' ',
      )
    : json;
