import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { type AnyCallback, callbackSchema, otherSchema } from '../families/callback.ts';
import { callbackEvents, type Family, takesEveryEvent } from '../families/family.ts';
import { readTime } from '../families/times.ts';
import { Decimal, withDecimals } from './decimal.ts';
import { explain } from './explain.ts';
import { digestOf, identifyingMembers, idOf } from './identify.ts';
import { plainDigest } from './plain-digest.ts';
import {
  type FieldError,
  InvalidCallback,
  NoEventTime,
  NotJson,
  OwnEvent,
  UnknownEvent,
  WrongFamily,
} from './rejection.ts';
import { findUnstorable, findUnstorableNumbers } from './unstorable.ts';

/** A callback that was read: its values as received, with a Decimal for each number that a double cannot represent. */
export interface Parsed {
  callback: AnyCallback;
  family: Family;
  /** The time of its event, in milliseconds since 1970. */
  eventMs: number;
  id: string;
}

/**
 * Creates the function that parses, validates and identifies callbacks, in linear time.
 *
 * @param whereOf tells the sender where to send a family's events
 * @param eventsOf the events of a family that are read; of stored callbacks, also those of the receiver itself
 */
export function createParse(
  families: readonly Family[],
  whereOf: (family: Family) => string,
  eventsOf: (family: Family) => string[] = callbackEvents,
) {
  const schema: z.ZodType = callbackSchema(families, eventsOf);
  const familyOf = new Map(
    families.flatMap((family) => eventsOf(family).map((event) => [event, family] as const)),
  );
  const own = new Set<unknown>(
    families.flatMap(({ events }) => Object.keys(events)).filter((event) => !familyOf.has(event)),
  );

  /** @throws UnknownEvent, WrongFamily, OwnEvent */
  const route = (event: unknown, expected: Family | undefined): Family | undefined => {
    if (own.has(event)) throw new OwnEvent();
    const family = typeof event === 'string' ? familyOf.get(event) : undefined;
    if (!expected || typeof event !== 'string') return family;
    if (takesEveryEvent(expected)) return family ?? expected;
    if (!family) throw new UnknownEvent(callbackEvents(expected));
    if (family !== expected) throw new WrongFamily(callbackEvents(expected), event, whereOf(family));
    return family;
  };

  /**
   * @param expected the family of the path (service-interface section 4.5); undefined: any that lists the event
   * @throws NotJson, InvalidCallback (UnknownEvent and WrongFamily name the right path)
   */
  return (body: Buffer, expected?: Family): Parsed => {
    if (!isUtf8(body)) throw new NotJson('The body is not UTF-8.');
    const json = body.toString('utf8');
    const parsed = parseJson(json);
    const family = route(eventOf(parsed), expected);
    const digest = family && plainDigest(body, parsed, identifyingMembers(family));
    // The parsed value itself, not zod's copy: with its unknown fields.
    const value = withEvent(digest === undefined ? exactly(json, parsed) : parsed);
    const validated = (family && takesEveryEvent(family) ? otherSchema : schema).safeParse(value);
    if (!validated.success) {
      if (isObject(value) && typeof value.event === 'string' && !family) throw new UnknownEvent();
      throw new InvalidCallback(validated.error.issues.map((issue) => explain(issue, value, family)));
    }
    const callback = value as unknown as AnyCallback;
    const eventMs = readTime(callback.event_time);
    if (eventMs == null) throw new NoEventTime();
    return { callback, family: family!, eventMs, id: idOf(eventMs, digest ?? digestOf(callback, family!)) };
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** Some callbacks call it `event_type`. */
const eventOf = (value: unknown) => (isObject(value) ? (value.event ?? value.event_type) : undefined);

function withEvent(value: unknown): unknown {
  return isObject(value) && value.event == null && value.event_type != null
    ? { ...value, event: value.event_type }
    : value;
}

/** @throws InvalidCallback if PostgreSQL cannot store it, or not as `data` */
function exactly(json: string, value: unknown): unknown {
  throwIfAny(findUnstorable(json, value));
  const exact = withDecimals(json, value);
  if (exact === value) return value;
  throwIfAny(findUnstorableNumbers(exact));
  // For the schema, a Decimal is an object.
  if (isObject(exact) && exact.data instanceof Decimal)
    throw new InvalidCallback([{ path: '/data', message: 'expected an object, got a number' }]);
  return exact;
}

function throwIfAny(errors: FieldError[]): void {
  if (errors.length > 0) throw new InvalidCallback(errors);
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // Not the parser's message, which quotes the body.
    throw new NotJson('The body is not valid JSON.');
  }
}
