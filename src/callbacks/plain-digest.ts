import { hash as hashOf } from 'node:crypto';
import { sortedOrder } from './exact-json.ts';

// Longer bodies, objects with more members, and deeper ones are parsed by `digestOf`.
const maxBytes = 16 * 1024;
const maxMembers = 100;
const maxDepth = 8;

/** The JSON, and behind it the canonical form of each of its objects, inner ones first. */
const bytes = new Uint8Array((maxDepth + 2) * maxBytes);
/** The start and end of the key, and of the value, of each member of each open object. */
const members = new Int32Array(4 * maxMembers * maxDepth);
let written = 0;
/** The end of the last value that was read, and the place of its canonical form. */
let position = 0;
let valueStart = 0;
let valueEnd = 0;

const eventKey = Buffer.from('"event"');

const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * `digestOf` where the JSON spells each key, text and number as its canonical form does: that form is made by copying bytes,
 * which makes a tenth more callbacks a second. `event_type` counts as `event`.
 *
 * @returns undefined where the canonical form needs more than copying: escapes, arrays, exponents, other notations of
 *   numbers, repeated keys, keys beyond ASCII. So JSON that has a digest has nothing that PostgreSQL's jsonb rejects, and
 *   no number that a double cannot represent
 */
export function plainDigest(json: Buffer, value: unknown, members: ReadonlySet<string>): string | undefined {
  if (json.length >= maxBytes || json[0] !== openBrace || json.includes(backslash)) return undefined;
  // Then `event_type` counts, too.
  if ((value as { event?: unknown }).event === null) return undefined;
  bytes.set(json);
  written = json.length;
  if (!readObject(value, 0, 0, members)) return undefined;
  return hashOf('sha256', bytes.subarray(valueStart, valueEnd));
}

/** Reads an object, and writes its canonical form. @returns false: copying is not enough */
function readObject(
  value: unknown,
  start: number,
  depth: number,
  identifying?: ReadonlySet<string>,
): boolean {
  // The text of a repeated key may be that of another value.
  if (typeof value !== 'object' || value === null) return false;
  const names = Object.keys(value);
  if (names.length > maxMembers || depth === maxDepth) return false;
  const event = identifying && !names.includes('event') ? names.indexOf('event_type') : -1;
  const keys = event < 0 ? names : names.with(event, 'event');
  const { isPlain, places } = sortedOrder(keys);
  if (!isPlain) return false;
  const first = 4 * maxMembers * depth;
  let at = skipSpace(start + 1);
  for (let index = 0, member = first; index < keys.length; index += 1, member += 4) {
    if (index > 0) at = skipSpace(at + 1); // behind the comma
    members[member] = at;
    at = endOfText(at);
    members[member + 1] = at;
    at = skipSpace(skipSpace(at) + 1); // behind the colon
    if (bytes[at] === openBrace) {
      if (!readObject((value as Record<string, unknown>)[names[index]!], at, depth + 1)) return false;
    } else if (!readScalar(at)) return false;
    members[member + 2] = valueStart;
    members[member + 3] = valueEnd;
    at = skipSpace(position);
  }
  // Without a repeated key, the text has as many members as the value, in the same order.
  if (bytes[at] !== closeBrace) return false;
  position = at + 1;
  if (event >= 0) renameToEvent(first + 4 * event);
  valueStart = written;
  write(first, identifying ? places.filter((place) => isIncluded(keys[place]!, value, identifying)) : places);
  valueEnd = written;
  return true;
}

/** An empty id of the envelope counts as absent. */
export const isMember = (name: string, value: unknown): boolean =>
  !((value == null || value === '') && (name === 'client_id' || name === 'business_id'));

const isIncluded = (key: string, value: object, identifying: ReadonlySet<string>) =>
  identifying.has(key) && isMember(key, (value as Record<string, unknown>)[key]);

function renameToEvent(member: number): void {
  bytes.set(eventKey, written);
  members[member] = written;
  written += eventKey.length;
  members[member + 1] = written;
}

function readScalar(start: number): boolean {
  const first = bytes[start]!;
  valueStart = start;
  if (first === quote) valueEnd = endOfText(start);
  else if (first === minus || isDigit(first)) valueEnd = endOfNumber(start);
  else valueEnd = endOfWord(start);
  position = valueEnd;
  return valueEnd > start;
}

function endOfText(start: number): number {
  let at = start + 1;
  while (bytes[at] !== quote) at += 1;
  return at + 1;
}

/** The end of `true`, `false` or `null`; `start` of an array. */
function endOfWord(start: number): number {
  let at = start;
  while (bytes[at]! >= 0x61 && bytes[at]! <= 0x7a) at += 1;
  return at;
}

/** The end of a number; `start` unless it is surely spelled as JSON.stringify spells it. */
function endOfNumber(start: number): number {
  let at = start;
  if (bytes[at] === minus) at += 1;
  const isFraction = bytes[at] === zero;
  if (isFraction && at > start) return start;
  while (isDigit(bytes[at]!)) at += 1;
  if (bytes[at] === dot) {
    // JSON.stringify writes an exponent below 1e-6.
    if (isFraction && bytes[at + 1] === zero) return start;
    at += 1;
    while (isDigit(bytes[at]!)) at += 1;
    if (bytes[at - 1] === zero) return start;
  }
  const isEnd = bytes[at] === comma || bytes[at] === closeBrace || bytes[at]! <= space;
  // A double represents any fifteen digits.
  return isEnd && at - start <= 15 ? at : start;
}

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= nine;
}

function skipSpace(start: number): number {
  let at = start;
  while (bytes[at]! <= space) at += 1;
  return at;
}

function write(first: number, places: readonly number[]): void {
  let to = written;
  bytes[to++] = openBrace;
  for (let place = 0; place < places.length; place += 1) {
    if (place > 0) bytes[to++] = comma;
    const member = first + 4 * places[place]!;
    to = copy(to, members[member]!, members[member + 1]!);
    bytes[to++] = colon;
    to = copy(to, members[member + 2]!, members[member + 3]!);
  }
  bytes[to++] = closeBrace;
  written = to;
}

function copy(to: number, start: number, end: number): number {
  const length = end - start;
  if (length > 100) bytes.copyWithin(to, start, end);
  else for (let at = 0; at < length; at += 1) bytes[to + at] = bytes[start + at]!;
  return to + length;
}
