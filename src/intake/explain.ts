import type { z } from 'zod';
import { typeOf } from '../receiver/intake/explain.ts';
import { type FieldError, pointer } from '../receiver/intake/rejection.ts';

/** The validator's names of types, in the words of JSON. */
const expectedWords: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
};

/** What is read of a family. */
interface Described {
  fields: Readonly<Record<string, { alias?: string }>>;
}

/**
 * Explains a fault to the developers of the sender: where it is, what is expected there, and the type of what came. Never
 * the value, and nothing of the validator's own text.
 */
export function explain(issue: z.core.$ZodIssue, body: unknown, family?: Described): FieldError {
  const [within, name] = issue.path;
  const alias = within === 'data' ? family?.fields[String(name)]?.alias : undefined;
  const isOther = alias !== undefined && isMissing(valueIn(body, ['data', name!]));
  const path = isOther && !isMissing(valueIn(body, ['data', alias])) ? ['data', alias] : issue.path;
  return { path: pointer(path), message: messageOf(issue, valueIn(body, path)) };
}

const isMissing = (value: unknown) => value === undefined || value === null;

/** A value of JSON; undefined: it is not there. */
function valueIn(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    body,
  );
}

function messageOf(issue: z.core.$ZodIssue, received: unknown): string {
  if (received === undefined) return 'is required';
  if (issue.message.startsWith('must ')) return issue.message;
  const expected =
    issue.code === 'invalid_type'
      ? expectedWords[issue.expected]
      : // The union of all callbacks: the families' own unions have messages.
        issue.code === 'invalid_union' && 'text';
  // The families' own messages begin so.
  const message = issue.message.startsWith('expected ') ? issue.message : expected && `expected ${expected}`;
  return message ? `${message}, got ${typeOf(received)}` : 'is not valid';
}
