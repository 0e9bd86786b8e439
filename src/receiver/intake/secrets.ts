import { isUtf8 } from 'node:buffer';

const mark = '[redacted]';
// A one-time password, and the keys of an exchange of health records.
const names = 'token|key[-_. ]?information';
const key = new RegExp(`^(?:${names})$`, 'i');
/** In a text that is JSON itself. */
const nested = new RegExp(`\\\\"(?:${names})\\\\+"\\s*:`, 'i');
/** In a body that is no JSON; the parameter of an address is no key. */
const mentioned = new RegExp(`(?<![a-z\\d?&])(?:${names})(?=\\W*[:=])`, 'i');

/** Whether a callback is about a health account: others are not searched. */
const mayHaveSecrets = (event: string) => /^\W*abha/i.test(event);

/** The body of a valid callback without the values of secret keys, at any depth; the other bytes are as received. */
export function withoutSecrets(body: Buffer, event: string): Buffer {
  if (!mayHaveSecrets(event)) return body;
  const json = body.toString();
  const redacted = redactValues(json);
  return redacted === json ? body : Buffer.from(redacted);
}

/**
 * A rejected body without secrets. What is no JSON ends behind the first secret key, because nothing tells where its value
 * ends.
 */
export function rejectedWithoutSecrets(body: Buffer): Buffer {
  const json = body.toString();
  let value: unknown;
  try {
    if (!isUtf8(body)) throw new SyntaxError();
    value = JSON.parse(json);
  } catch {
    return withoutEnd(body);
  }
  const { event, event_type } = (value ?? {}) as Record<string, unknown>;
  const events = [event, event_type].filter((one) => one !== undefined && one !== null);
  if (events.length > 0 && events.every((one) => typeof one === 'string' && !mayHaveSecrets(one)))
    return body;
  const redacted = redactValues(json);
  return redacted === json ? body : Buffer.from(redacted);
}

/** Zero bytes and escapes may hide a key: UTF-16 that is read as UTF-8. */
function withoutEnd(body: Buffer): Buffer {
  const encoding = isUtf8(body) ? 'utf8' : 'latin1';
  const text = unescaped(body.toString(encoding).replaceAll('\0', ''));
  const found = mentioned.exec(text);
  return found ? Buffer.from(text.slice(0, found.index) + found[0] + mark, encoding) : body;
}

/** @param json valid JSON */
function redactValues(json: string): string {
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
    if (json[colon] !== ':') at = nested.test(text) ? replace(at, end) : end;
    else if (!isSecret(text)) at = end;
    else {
      const start = skipSpace(json, colon + 1);
      at = replace(start, endOfValue(json, start));
    }
  }
  return redacted + json.slice(copied);
}

const maxKey = 200;

function isSecret(text: string): boolean {
  if (text.length > maxKey) return false;
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
