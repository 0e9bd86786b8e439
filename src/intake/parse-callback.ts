import { isUtf8 } from 'node:buffer';
import { findEventTime } from '../families/event-time.ts';
import {
  type AnyEnvelope,
  envelopeSchema,
  type Family,
  otherEnvelope,
  takesEveryEvent,
} from '../families/index.ts';
import { Decimal, withDecimals } from '../receiver/intake/decimal.ts';
import { plainDigest } from '../receiver/intake/plain-digest.ts';
import { type FieldError, InvalidCallback, NotJson } from '../receiver/intake/rejection.ts';
import { findUnstorable, findUnstorableNumbers } from '../receiver/intake/unstorable.ts';
import { explain } from './explain.ts';
import { identify, identifyingMembers, idOf } from './identity.ts';
import { NoEventTime, OwnEvent, UnknownEvent, WrongFamily } from './rejections.ts';

/**
 * Creates the function that parses and identifies callbacks, in linear time. It raises NotJson; InvalidCallback, whose
 * UnknownEvent and WrongFamily name the right path, and OwnEvent is none of a callback. The id has the event time.
 *
 * @param whereOf tells the sender where to send a family's events
 */
export function createParser(
  families: readonly Family[],
  whereOf: (family: Family) => string = ({ path }) =>
    path.variable ? `the path of ${path.variable}` : path.default.join(' or '),
) {
  const schema = envelopeSchema(families as readonly [Family, ...Family[]]);
  const familyOf = new Map(families.flatMap((family) => family.events.map((event) => [event, family])));

  const own = new Set<unknown>(families.flatMap(({ reconciledBy }) => reconciledBy ?? []));

  /** @throws UnknownEvent, WrongFamily, OwnEvent */
  const route = (event: unknown, expected: Family | undefined): Family | undefined => {
    if (own.has(event)) throw new OwnEvent();
    const family = typeof event === 'string' ? familyOf.get(event) : undefined;
    if (!expected || typeof event !== 'string') return family;
    if (takesEveryEvent(expected)) return family ?? expected;
    if (!family) throw new UnknownEvent(expected.events);
    if (family !== expected) throw new WrongFamily(expected.events, event, whereOf(family));
    return family;
  };

  /**
   * @param expected the family of the path (service-interface section 4.5); undefined: any that lists the event
   * @returns the envelope as received, with `event` also where it was called `event_type`, and a Decimal for each number
   *   that a double cannot represent; the family that lists the event, or else that of a path that takes every event
   */
  return (body: Buffer, expected?: Family) => {
    if (!isUtf8(body)) throw new NotJson('The body is not UTF-8.');
    const json = body.toString('utf8');
    const parsed = parseJson(json);
    const family = route(eventOf(parsed), expected);
    const digest = family && plainDigest(body, parsed, identifyingMembers(family));
    // The parsed value itself, not zod's copy: with its unknown fields, in their order.
    const value = withEvent(digest === undefined ? exactly(json, parsed) : parsed);
    const validated = (family && takesEveryEvent(family) ? otherEnvelope : schema).safeParse(value);
    if (!validated.success) {
      if (isObject(value) && typeof value.event === 'string' && !family) throw new UnknownEvent();
      throw new InvalidCallback(validated.error.issues.map((issue) => explain(issue, value, family)));
    }
    const envelope = value as unknown as AnyEnvelope;
    const eventTime = findEventTime(envelope, family);
    if (eventTime === undefined) throw new NoEventTime();
    const id = digest === undefined ? identify(envelope, family) : idOf(eventTime, digest);
    return { envelope, id, family: family! };
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
  if (isObject(exact) && exact.data instanceof Decimal) {
    throw new InvalidCallback([{ path: '/data', message: 'expected an object, got a number' }]);
  }
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
