import { z } from 'zod';
import { type Aliases, type AliasKind, findIds, isAliasKind } from '../reconcile/aliases.ts';
import { BadInput } from './page.ts';

export const text = z.string().max(500, 'is too long.');

/** The hash of a cause: what is typed is none. */
export const cause = z.string().regex(/^[0-9a-f]{32}$/, 'Unknown cause.');

export const guid = z.guid('An id must be a UUID.');

export const oneOf = <const Value extends string>(values: readonly Value[]) =>
  z.enum(values, values.length > 12 ? 'Unknown value.' : `Choose one of ${values.join(', ')}.`);

/** The id of a business, a clinic or a doctor, or its name. */
export const named = (kind: AliasKind) => text.meta({ kind });

interface Form<Shape extends z.ZodRawShape> {
  data: { [Name in keyof Shape]?: z.output<Shape[Name]> | undefined };
  /** As it was entered. */
  entered: Record<string, string>;
  faults: Record<string, string>;
}

/** Ignores empty and unknown fields. With aliases, the name of a business, a clinic or a doctor is read as its id. */
export function parseForm<Shape extends z.ZodRawShape>(
  form: Record<string, unknown>,
  shape: Shape,
  aliases?: Aliases,
): Form<Shape> {
  const data: Form<Shape>['data'] = {};
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
    if (ids.length > 1) faults[name] = `${ids.length} names match “${entered[name]}”. Type more of the name.`;
    else if (error) faults[name] = error.issues[0]!.message;
    else Object.assign(data, { [name]: value });
  }
  return { data, entered, faults };
}

/** @throws BadInput where a field is invalid */
export function readForm<Shape extends z.ZodRawShape>(
  form: Record<string, unknown>,
  shape: Shape,
  aliases?: Aliases,
): Form<Shape>['data'] {
  const { data, faults } = parseForm(form, shape, aliases);
  const messages = Object.entries(faults).map(([name, fault]) => `${name}: ${fault}`);
  if (messages.length > 0) throw new BadInput(messages.join(' '));
  return data;
}
