import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { type AnyCallback, callbackSchema, otherSchema, withoutAliases } from './callback.ts';
import { Decimal, withDecimals } from './exact-json.ts';
import {
  callbackEvents,
  documentedPath,
  type Family,
  isKeyedByEnvelope,
  takesEveryEvent,
} from './families/family.ts';
import { unfitMark } from './families/field.ts';
import { digestOf, idOf } from './identify.ts';
import { InvalidCallback, NotJson, pointer } from './rejection.ts';
import { lacksOffset, readTime } from './times.ts';

const noTime = 'must be a time from 2000 on: seconds, milliseconds, or ISO 8601 with an offset';
const withoutOffset = 'has no offset: send Z, or such as +05:30, behind the time';

export interface ParsedCallback {
  /**
   * The output of the schema, with a Decimal for each number that a double cannot represent. An unfit value has `unfitMark`
   * in front of its name.
   */
  callback: AnyCallback;
  /** `data` is what was received. */
  isAsReceived: boolean;
  unfitFields: readonly string[];
  family: Family;
  /** In milliseconds since 1970. */
  eventMs: number;
  id: string;
}

/** Parses, validates and identifies a callback, in linear time. @param readsOwn also the receiver's own events */
export function createParse(families: readonly Family[], readsOwn: boolean) {
  const schema = callbackSchema(families);
  const familyOf = new Map(
    families.flatMap((family) => Object.keys(family.events).map((event) => [event, family] as const)),
  );

  const route = (event: unknown, expected: Family | undefined): Family | undefined => {
    if (typeof event !== 'string') return undefined;
    const family = familyOf.get(event);
    // From outside it would pass for one of the receiver's.
    if (!readsOwn && family?.events[event] === 'reconciled')
      throw InvalidCallback.at('/event', 'is an event of the receiver itself, which no callback may have');
    if (!expected || family === expected) return family;
    if (takesEveryEvent(expected)) return family ?? expected;
    const events = callbackEvents(expected).join(', ');
    if (!family) throw InvalidCallback.at('/event', `is not a known event: this path takes ${events}`);
    const message = `must be one of ${events} at this path; send ${event} to ${pathOf(family, event)}`;
    throw InvalidCallback.at('/event', message, 'wrong_family');
  };

  /** @throws NotJson, InvalidCallback */
  return (body: Buffer, expected?: Family): ParsedCallback => {
    if (!isUtf8(body)) throw new NotJson('The body is not UTF-8.');
    const json = body.toString('utf8');
    const parsed = parseJson(json);
    const family = route(eventOf(parsed), expected);
    const value = withEvent(exactly(json, parsed));
    const validator = family && takesEveryEvent(family) ? otherSchema : schema;
    const { callback, unfitFields } = validate(validator, value, family);
    const eventMs = readTime(callback.event_time);
    if (eventMs == null)
      throw InvalidCallback.at('/event_time', lacksOffset(callback.event_time) ? withoutOffset : noTime);
    const id = idOf(eventMs, digestOf(value, family!));
    const isAsReceived = isSame(value, callback);
    return { callback, isAsReceived, unfitFields, family: family!, eventMs, id };
  };
}

/** @throws InvalidCallback where the envelope or the key of the record is at fault: other values of `data` become unfit */
function validate(
  schema: z.ZodType<AnyCallback>,
  value: unknown,
  family: Family | undefined,
): { callback: AnyCallback; unfitFields: readonly string[] } {
  const data = isObject(value) && isObject(value.data) ? value.data : undefined;
  // The schema's output would lack it.
  for (const members of [value, data])
    if (isObject(members) && Object.hasOwn(members, '__proto__'))
      throw InvalidCallback.at(members === data ? '/data' : '', 'must not have a member __proto__');
  const named = data && family ? withoutAliases(data, family) : data;
  const input = isObject(value) && named !== data ? { ...value, data: named } : value;
  const result = schema.safeParse(input);
  if (result.success) return { callback: result.data, unfitFields: [] };
  const { issues } = result.error;
  const refusing = issues.filter((issue) => unfitField(issue, family) === undefined);
  if (refusing.length === 0) {
    const unfit = new Set(issues.map((issue) => unfitField(issue, family)!));
    const marked = Object.entries(named ?? {}).map(([name, inner]) => [
      unfit.has(name) ? unfitMark + name : name,
      inner,
    ]);
    const callback = schema.parse({ ...Object(value), data: Object.fromEntries(marked) });
    return { callback, unfitFields: [...unfit] };
  }
  if (isObject(value) && !family)
    throw InvalidCallback.at('/event', value.event == null ? 'is required' : 'is not a known event');
  throw new InvalidCallback(refusing.map(({ path, message }) => ({ path: pointer(path), message })));
}

/** The name of the field that an issue makes unfit; undefined: the issue refuses the callback. */
function unfitField({ path: [member, name] }: z.core.$ZodIssue, family: Family | undefined) {
  const isField = family && member === 'data' && name !== undefined;
  return isField && (name !== family.key || isKeyedByEnvelope(family)) ? String(name) : undefined;
}

/** Whether the output of the schema has the `data` of its input. */
function isSame(input: unknown, { data }: AnyCallback): boolean {
  const received = isObject(input) && isObject(input.data) ? input.data : {};
  for (const name in received) if (received[name] !== data[name]) return false;
  return true;
}

// A path that a variable sets may be a secret.
function pathOf(family: Family, event: string): string {
  const { variable } = family.path;
  const documented = documentedPath(family, event);
  return variable ? `the path of ${variable} (by default ${documented})` : documented;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
// Some callbacks call it `event_type`.
const eventOf = (value: unknown) => (isObject(value) ? (value.event ?? value.event_type) : undefined);

function withEvent(value: unknown): unknown {
  return isObject(value) && value.event == null && value.event_type != null
    ? { ...value, event: value.event_type }
    : value;
}

/** @throws InvalidCallback if PostgreSQL cannot store it, or not as `data` */
function exactly(json: string, value: unknown): unknown {
  if (mayBeUnstorable(json) && !isStorable(value)) throw InvalidCallback.at('', unstorable);
  const exact = withDecimals(json, value);
  if (exact === value) return value;
  if (!isStorable(exact)) throw InvalidCallback.at('', unstorable);
  // For the schema, a Decimal is an object.
  if (isObject(exact) && exact.data instanceof Decimal)
    throw InvalidCallback.at('/data', 'must be an object');
  return exact;
}

const maxDepth = 64;

const unstorable =
  'must not have U+0000, an unpaired surrogate, more than 64 levels, nor a number outside the range of a double, with an exponent beyond ±400 or more than 16383 digits after the point';

// Cheap checks that rule out nearly every callback; only the others are searched.
const mayBreakText = /\\u(?:0000|d[89a-f])/i;

/** Whether jsonb may reject valid JSON for a text in it, or deep nesting. */
export const mayBeUnstorable = (json: string): boolean => mayBeTooDeep(json) || mayBreakText.test(json);

function mayBeTooDeep(json: string): boolean {
  let brackets = 0;
  for (const bracket of ['{', '[']) {
    for (let at = json.indexOf(bracket); at >= 0; at = json.indexOf(bracket, at + 1)) {
      brackets += 1;
      if (brackets > maxDepth) return true;
    }
  }
  return false;
}

export function isStorable(value: unknown, depth = 0): boolean {
  if (value instanceof Decimal) return value.isStorable;
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= maxDepth) return false;
  return Object.entries(value).every(([key, inner]) => isStorable(key) && isStorable(inner, depth + 1));
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // Not the parser's message, which quotes the body.
    throw new NotJson('The body is not valid JSON.');
  }
}
