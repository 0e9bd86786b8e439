import { z } from 'zod';
import type { Family } from '../families/index.ts';
import { BadInput } from './errors.ts';
import { parseLocal } from './ui/time.ts';

export const text = z.string().max(500, 'Too long.');

export const guid = z.guid('An id must be a UUID.');

export const oneOf = <const Value extends string>(values: readonly Value[]) =>
  z.enum(values, 'Unknown value.');

export const familyFields = (families: readonly Family[]) => ({
  family: oneOf(families.map(({ name }) => name)),
  event: oneOf(families.flatMap(({ events }) => events)),
});

/** A field for date and time, read in a time zone. */
export const localTime = (timezone: string) =>
  z.string().transform((value, context) => {
    const at = parseLocal(value, timezone);
    if (at) return at;
    context.addIssue({ code: 'custom', message: 'Enter a date and a time.' });
    return z.NEVER;
  });

/**
 * Parses the fields of a form or an address; empty fields count as absent, unknown ones are ignored.
 *
 * @returns the fields as `entered` too, `faults` by field name, and the `status` of the page that shows them
 */
export function parseForm<Shape extends z.ZodRawShape>(form: Record<string, unknown>, shape: Shape) {
  const data: { [Name in keyof Shape]?: z.output<Shape[Name]> | undefined } = {};
  const entered: Record<string, string> = {};
  const faults: Record<string, string> = {};
  for (const [name, schema] of Object.entries(shape)) {
    const field = form[name];
    // PostgreSQL's text cannot hold U+0000.
    const given = typeof field === 'string' ? field.trim().replaceAll('\0', '') : field;
    if (given === undefined || given === '') continue;
    entered[name] = String(given);
    const { data: value, error } = z.safeParse(schema, given);
    if (error) faults[name] = error.issues[0]!.message;
    else Object.assign(data, { [name]: value });
  }
  const status: 200 | 400 = Object.keys(faults).length > 0 ? 400 : 200;
  return { data, entered, faults, status };
}

/** @throws BadInput where a field is invalid */
export function readForm<Shape extends z.ZodRawShape>(form: Record<string, unknown>, shape: Shape) {
  const parsed = parseForm(form, shape);
  const faults = Object.values(parsed.faults);
  if (faults.length > 0) throw new BadInput(faults.join(' '));
  return parsed;
}
