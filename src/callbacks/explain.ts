import type { z } from 'zod';
import { Decimal } from './decimal.ts';
import { type FieldError, pointer } from './rejection.ts';

/**
 * Explains a fault to the developers of the sender: where it is, what is expected there, and the type of what came. Never
 * the value, and nothing of the validator's own text.
 *
 * @param issue with its input
 */
export function explain(issue: z.core.$ZodIssue): FieldError {
  // The input of a union that is told apart by `event` is the whole callback.
  const isUnion = issue.code === 'invalid_union' && issue.discriminator !== undefined;
  const received = isUnion ? (issue.input as { event?: unknown }).event : issue.input;
  return { path: pointer(issue.path), message: messageOf(issue, received) };
}

function messageOf(issue: z.core.$ZodIssue, received: unknown): string {
  if (received === undefined) return 'is required';
  if (issue.message.startsWith('must ')) return issue.message;
  const expected = issue.code === 'invalid_type' && issue.expected === 'object' ? 'an object' : 'text';
  // The families' own messages begin so.
  const message = issue.message.startsWith('expected ') ? issue.message : `expected ${expected}`;
  return `${message}, got ${typeOf(received)}`;
}

/** The JSON type of a value, in words. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Decimal) return 'a number';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number')
    return Number.isInteger(value) ? 'a whole number' : 'a number with a fraction';
  if (typeof value === 'boolean') return 'true or false';
  return typeof value === 'string' ? 'text' : 'an object';
}
