import { z } from 'zod';
import { parseLocal } from '../common/local-times.ts';
import { type Aliases, findIds, isAliasKind } from '../reconcile/aliases.ts';
import { BadInput } from './page.ts';
import type { FormField } from './ui/forms.tsx';

export const text = z.string().max(500, 'Too long.');

export const receiptId = z.string().regex(/^\d{1,15}$/, 'A receipt id must be a whole number.');

export const guid = z.guid('An id must be a UUID.');

export const oneOf = <const Value extends string>(values: readonly Value[]) =>
  z.enum(values, values.length > 12 ? 'Unknown value.' : `Choose one of ${values.join(', ')}.`);

export const choice = <const Value extends string>(label: string, options: readonly Value[], any = 'any') =>
  oneOf(options).meta({ label, options, any });

/** A field for date and time, read in a time zone; without a label, it is shown in no form. */
export const localTime = (timezone: string, label?: string) =>
  z
    .string()
    .transform((value, context) => {
      const at = parseLocal(value, timezone);
      if (at) return at;
      context.addIssue({ code: 'custom', message: 'Enter a date and a time.' });
      return z.NEVER;
    })
    .meta({ label, kind: 'datetime-local' });

export interface Form {
  fields: FormField[];
  entered: Record<string, string>;
  faults: Record<string, string>;
}

interface ParsedForm<Shape extends z.ZodRawShape> extends Form {
  data: { [Name in keyof Shape]?: z.output<Shape[Name]> | undefined };
  status: 200 | 400;
}

/** Ignores empty and unknown fields. With aliases, the name of a business, a clinic or a doctor is read as its id. */
export function parseForm<Shape extends z.ZodRawShape>(
  form: Record<string, unknown>,
  shape: Shape,
  aliases?: Aliases,
): ParsedForm<Shape> {
  const data: ParsedForm<Shape>['data'] = {};
  const entered: Record<string, string> = {};
  const faults: Record<string, string> = {};
  for (const [name, schema] of Object.entries(shape)) {
    const field = form[name];
    // PostgreSQL's text cannot hold U+0000.
    const input = typeof field === 'string' ? field.trim().replaceAll('\0', '') : field;
    if (input === undefined || input === '') continue;
    entered[name] = String(input);
    const { kind } = z.globalRegistry.get(schema) ?? {};
    const ids = aliases && isAliasKind(kind) ? findIds(aliases[kind], entered[name]) : [];
    const { data: value, error } = z.safeParse(schema, ids[0] ?? input);
    if (ids.length > 1) faults[name] = `${ids.length} names have that. Enter more of it, or the id.`;
    else if (error) faults[name] = error.issues[0]!.message;
    else Object.assign(data, { [name]: value });
  }
  const fields = Object.entries(shape).flatMap(([name, schema]) => {
    const { label, ...field } = z.globalRegistry.get(schema) ?? {};
    return label ? [{ ...field, label, name, byName: aliases !== undefined } as FormField] : [];
  });
  return { data, fields, entered, faults, status: Object.keys(faults).length > 0 ? 400 : 200 };
}

/** @throws BadInput where a field is invalid */
export function readForm<Shape extends z.ZodRawShape>(form: Record<string, unknown>, shape: Shape) {
  const parsed = parseForm(form, shape);
  const faults = Object.entries(parsed.faults).map(([name, fault]) => `${name}: ${fault}`);
  if (faults.length > 0) throw new BadInput(faults.join(' '));
  return parsed;
}
