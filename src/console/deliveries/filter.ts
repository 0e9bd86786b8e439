import { z } from 'zod';
import type { Family } from '../../families/index.ts';
import type { DeliveryStatus } from '../../store/tables.ts';
import { parseLocal } from '../ui/time.ts';

export const statuses = ['received', 'applied', 'failed'] as const;

/** Which deliveries to show; what is left out does not narrow. */
export interface DeliveryFilter {
  id?: string | undefined;
  /** The thing that a receipt's callback is about. */
  receipt?: string | undefined;
  family?: string | undefined;
  event?: string | undefined;
  business?: string | undefined;
  status?: DeliveryStatus | undefined;
  error?: string | undefined;
  /** By the time of the event. */
  from?: Date | undefined;
  until?: Date | undefined;
  /** By the time of the arrival. */
  arrivedFrom?: Date | undefined;
  arrivedUntil?: Date | undefined;
}

export interface ParsedFilter {
  filter: DeliveryFilter;
  /** What was entered, as it was. */
  entered: Record<string, string>;
  /** What is wrong with it, by the field's name. */
  faults: Record<string, string>;
}

const wholeNumber = z.string().regex(/^\d{1,15}$/, 'A receipt’s id is a whole number.');
const text = z.string().max(500, 'That is too long.');

/** Reads a filter out of an address or a form. */
export function parseFilter(
  query: Record<string, unknown>,
  families: readonly Family[],
  timezone: string,
): ParsedFilter {
  const oneOf = (values: readonly string[]) =>
    text.refine((value) => values.includes(value), 'There is no such choice.');
  const moment = text.transform((value, context) => {
    const at = parseLocal(value, timezone);
    if (at) return at;
    context.addIssue({ code: 'custom', message: 'A time is a date and a time of day.' });
    return z.NEVER;
  });
  const fields = {
    id: z.guid('An id is a UUID.'),
    receipt: wholeNumber,
    family: oneOf(families.map(({ name }) => name)),
    event: oneOf(families.flatMap(({ events }) => events)),
    business: text,
    status: oneOf(statuses),
    error: text,
    from: moment,
    until: moment,
    arrivedFrom: moment,
    arrivedUntil: moment,
  };
  const entered: Record<string, string> = {};
  const faults: Record<string, string> = {};
  const filter: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(fields)) {
    const value = query[name];
    // PostgreSQL's text holds no U+0000.
    const given = typeof value === 'string' ? value.trim().replaceAll('\0', '') : '';
    if (given === '') continue;
    entered[name] = given;
    const parsed = schema.safeParse(given);
    if (parsed.success) filter[name] = parsed.data;
    else faults[name] = parsed.error.issues[0]!.message;
  }
  return { filter, entered, faults };
}
