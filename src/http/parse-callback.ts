import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import type { AnyEnvelope, Family } from '../families/index.ts';
import { type FieldError, InvalidCallback, NotJson, WrongFamily } from './errors.ts';
import { pointer } from './pointer.ts';
import { findUnstorable } from './unstorable.ts';

/**
 * Parses a callback, once.
 *
 * @param schema of the envelope of every family (service-interface section 2)
 * @param family the family whose callbacks arrive on this path (section 4.5); left out: any
 * @throws NotJson; InvalidCallback with the faults, an event of another family among them
 */
export function parseCallback(body: Buffer, schema: z.ZodType<AnyEnvelope>, family?: Family): AnyEnvelope {
  if (!isUtf8(body)) throw new NotJson('The body is not UTF-8.');
  const json = body.toString('utf8');
  const value = parseJson(json);
  const unstorable = findUnstorable(json, value);
  if (unstorable.length > 0) throw new InvalidCallback(unstorable);
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new InvalidCallback(parsed.error.issues.map(describeIssue));
  // What was validated is passed on as it came, with its unknown fields in their order.
  const envelope = value as AnyEnvelope;
  if (family && !family.events.includes(envelope.event)) {
    throw new WrongFamily(family.events);
  }
  return envelope;
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // The parser's message quotes the body.
    throw new NotJson('The body is not valid JSON.');
  }
}

function describeIssue(issue: z.core.$ZodIssue): FieldError {
  const missing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
  return { path: pointer(issue.path), message: missing ? 'is required' : issue.message };
}
