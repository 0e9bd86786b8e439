import { z } from 'zod';
import { BadInput } from './page.ts';

export const text = z.string().max(500, 'is too long.');

/** The hash of a cause: what is typed is none. */
export const cause = z.string().regex(/^[0-9a-f]{32}$/, 'Unknown cause.');

export const guid = z.guid('An id must be a UUID.');

export const oneOf = <const Value extends string>(values: readonly Value[]) =>
  z.enum(values, values.length > 12 ? 'Unknown value.' : `Choose one of ${values.join(', ')}.`);

/** Ignores empty and unknown fields. @throws BadInput where one is invalid */
export function readForm<Shape extends z.ZodRawShape>(
  form: Record<string, unknown> | undefined,
  shape: Shape,
) {
  const filled = Object.entries(form ?? {}).flatMap(([name, field]) => {
    // PostgreSQL's text cannot hold U+0000.
    const input = typeof field === 'string' ? field.trim().replaceAll('\0', '') : field;
    return input === '' ? [] : [[name, input]];
  });
  const { data, error } = z.object(shape).partial().safeParse(Object.fromEntries(filled));
  if (!error) return data;
  throw new BadInput(
    error.issues.map(({ path: [name], message }) => `${String(name)}: ${message}`).join(' '),
  );
}
