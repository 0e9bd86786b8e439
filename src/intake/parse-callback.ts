import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import type { AnyEnvelope, Family } from '../families/index.ts';
import { withDecimals } from './decimals.ts';
import { identify, idOf, milliseconds } from './identity.ts';
import { plainDigest } from './plain-digest.ts';
import { type FieldError, InvalidCallback, NotJson, pointer, WrongFamily } from './rejection.ts';
import { findUnstorable, findUnstorableNumbers } from './unstorable.ts';

const dayMs = 24 * 60 * 60 * 1000;

/**
 * Parses and identifies a callback, in linear time.
 *
 * @param schema of the envelope of any family (service-interface section 2)
 * @param nowMs the current time: an event more than a day ahead would remain the newest until then
 * @param family the family of the path (section 4.5); undefined: any
 * @returns the callback as received, and its id; numbers of `data` that a double cannot represent are Decimals
 * @throws NotJson; InvalidCallback; WrongFamily
 */
export function parseCallback(
  body: Buffer,
  schema: z.ZodType<AnyEnvelope>,
  nowMs: number,
  family?: Family,
): { envelope: AnyEnvelope; id: string } {
  if (!isUtf8(body)) throw new NotJson('The body is not UTF-8.');
  const json = body.toString('utf8');
  const parsed = parseJson(json);
  const hash = plainDigest(body, parsed);
  const value = hash === undefined ? exactly(json, parsed) : parsed;
  const validated = schema.safeParse(value);
  if (!validated.success) throw new InvalidCallback(validated.error.issues.map(describeIssue));
  // The parsed value itself, not zod's copy: with its unknown fields, in their order.
  const envelope = value as AnyEnvelope;
  if (family && !family.events.includes(envelope.event)) throw new WrongFamily(family.events);
  if (milliseconds(envelope.event_time) > nowMs + dayMs) {
    throw new InvalidCallback([
      { path: '/event_time', message: 'must not be more than a day in the future' },
    ]);
  }
  return { envelope, id: hash === undefined ? identify(envelope) : idOf(envelope.event_time, hash) };
}

/** @throws InvalidCallback if PostgreSQL cannot store it */
function exactly(json: string, value: unknown): unknown {
  throwIfAny(findUnstorable(json, value));
  const exact = withDecimals(json, value);
  if (exact !== value) throwIfAny(findUnstorableNumbers(exact));
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

function describeIssue(issue: z.core.$ZodIssue): FieldError {
  const missing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
  return { path: pointer(issue.path), message: missing ? 'is required' : issue.message };
}
