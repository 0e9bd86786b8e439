import { z } from 'zod';
import { BadInput } from './errors.ts';
import { parseLocal } from './ui/time.ts';

export const shortText = z.string().trim().max(500, 'Too long.');

/** A field for date and time, read in a time zone. */
export const localTime = (timezone: string) =>
  z.string().transform((value, context) => {
    const at = parseLocal(value, timezone);
    if (at) return at;
    context.addIssue({ code: 'custom', message: 'Enter a date and a time.' });
    return z.NEVER;
  });

/**
 * Reads a form; empty fields count as absent.
 *
 * @returns the parsed form, and its fields to send again
 * @throws BadInput
 */
export function readForm<Shape extends z.ZodRawShape>(form: Record<string, unknown>, shape: Shape) {
  const filled = Object.entries(form).filter(([, value]) => value !== '');
  const parsed = z.object(shape).safeParse(Object.fromEntries(filled));
  if (!parsed.success) throw new BadInput(parsed.error.issues.map(({ message }) => message).join(' '));
  const own = filled.filter(([name]) => Object.hasOwn(shape, name));
  return { data: parsed.data, values: Object.fromEntries(own) as Record<string, string | undefined> };
}
