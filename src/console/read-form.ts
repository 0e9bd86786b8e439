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

export interface ParsedForm<Shape extends z.ZodRawShape> {
  data: { [Name in keyof Shape]?: z.output<Shape[Name]> | undefined };
  /** The fields as entered. */
  entered: Record<string, string>;
  /** Errors by field name. */
  faults: Record<string, string>;
}

/** Parses the fields of a form or an address; empty fields count as absent, unknown ones are ignored. */
export function parseForm<Shape extends z.ZodRawShape>(
  form: Record<string, unknown>,
  shape: Shape,
): ParsedForm<Shape> {
  const parsed: ParsedForm<Shape> = { data: {}, entered: {}, faults: {} };
  for (const [name, schema] of Object.entries(shape)) {
    const value = form[name];
    // PostgreSQL's text cannot hold U+0000.
    const given = typeof value === 'string' ? value.trim().replaceAll('\0', '') : value;
    if (given === undefined || given === '') continue;
    parsed.entered[name] = String(given);
    const { data, error } = z.safeParse(schema, given);
    if (error) parsed.faults[name] = error.issues[0]!.message;
    else Object.assign(parsed.data, { [name]: data });
  }
  return parsed;
}

/** @throws BadInput where a field is invalid */
export function readForm<Shape extends z.ZodRawShape>(form: Record<string, unknown>, shape: Shape) {
  const parsed = parseForm(form, shape);
  const faults = Object.values(parsed.faults);
  if (faults.length > 0) throw new BadInput(faults.join(' '));
  return parsed;
}
