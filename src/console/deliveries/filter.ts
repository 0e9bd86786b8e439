import { z } from 'zod';
import type { Family } from '../../families/index.ts';
import { type DeliveryStatus, deliveryStatuses } from '../../store/tables.ts';
import { localTime } from '../read-form.ts';

/** Which deliveries to show; absent fields do not filter. */
export interface DeliveryFilter {
  id?: string | undefined;
  /** A receipt's id. */
  receipt?: string | undefined;
  family?: string | undefined;
  event?: string | undefined;
  business?: string | undefined;
  status?: DeliveryStatus | undefined;
  error?: string | undefined;
  /** By the time of the event. */
  from?: Date | undefined;
  until?: Date | undefined;
  /** By the time of receipt. */
  receivedFrom?: Date | undefined;
  receivedUntil?: Date | undefined;
}

export interface ParsedFilter {
  filter: DeliveryFilter;
  /** The fields as entered. */
  entered: Record<string, string>;
  /** Errors by field name. */
  faults: Record<string, string>;
}

const wholeNumber = z.string().regex(/^\d{1,15}$/, 'A receipt id must be a whole number.');
const text = z.string().max(500, 'Too long.');

/** Reads a filter out of an address or a form. */
export function parseFilter(
  query: Record<string, unknown>,
  families: readonly Family[],
  timezone: string,
): ParsedFilter {
  const oneOf = (values: readonly string[]) =>
    text.refine((value) => values.includes(value), 'Unknown value.');
  const time = localTime(timezone);
  const fields = {
    id: z.guid('An id must be a UUID.'),
    receipt: wholeNumber,
    family: oneOf(families.map(({ name }) => name)),
    event: oneOf(families.flatMap(({ events }) => events)),
    business: text,
    status: oneOf(deliveryStatuses),
    error: text,
    from: time,
    until: time,
    receivedFrom: time,
    receivedUntil: time,
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
