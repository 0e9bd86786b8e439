import { z } from 'zod';
import type { Family } from '../../families/index.ts';
import { deliveryStatuses } from '../../store/tables.ts';
import { familyFields, guid, localTime, oneOf, parseForm, text } from '../read-form.ts';

export type ParsedFilter = ReturnType<typeof parseFilter>;

/** Which deliveries to show; absent fields do not filter. */
export type DeliveryFilter = ParsedFilter['data'];

/** Parses the filter in an address. */
export function parseFilter(query: Record<string, unknown>, families: readonly Family[], timezone: string) {
  const time = localTime(timezone);
  return parseForm(query, {
    id: guid,
    receipt: z.string().regex(/^\d{1,15}$/, 'A receipt id must be a whole number.'),
    ...familyFields(families),
    business: text,
    status: oneOf(deliveryStatuses),
    error: text,
    /** Default: by the time of arrival. */
    order: oneOf(['event']),
    /** By the time of the event. */
    since: time,
    until: time,
    receivedSince: time,
    receivedUntil: time,
  });
}

/** Where a page begins, see `DeliveryLine`. */
const place = z
  .string()
  .regex(/^\d{1,17}\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i, 'There is no such page.');

export const placeFields = { before: place, after: place };
