import { z } from 'zod';
import type { Family } from '../../families/index.ts';
import { deliveryStatuses } from '../../store/tables.ts';
import { choice, familyFields, fieldsOf, guid, localTime, parseForm, receiptId, text } from '../read-form.ts';
import type { Visit } from '../ui/context.ts';

/** Parses the filter in an address: which deliveries to show. That for an error is shown only where it is set. */
export function parseFilter(
  query: Record<string, unknown>,
  families: readonly Family[],
  { timezone, aliases }: Visit,
) {
  const shape = {
    ...familyFields(families),
    status: choice('Status', deliveryStatuses),
    business: text.meta({ label: 'Business', kind: 'business' }),
    receipt: receiptId.meta({ label: 'Receipt id' }),
    id: guid.meta({ label: 'Delivery id' }),
    since: localTime(timezone, 'Event time from'),
    until: localTime(timezone, 'Event time before'),
    receivedSince: localTime(timezone, 'Received from'),
    receivedUntil: localTime(timezone, 'Received before'),
    order: choice('Order by', ['event'], 'arrival'),
    error: text.meta({ label: 'Error' }),
  };
  const parsed = parseForm(query, shape, aliases);
  const { error, ...others } = shape;
  return { ...parsed, fields: fieldsOf(parsed.entered.error ? shape : others, true) };
}

/** Where a page begins, see `DeliveryLine`. */
const place = z
  .string()
  .regex(/^\d{1,17}\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i, 'There is no such page.');

export const placeFields = { before: place, after: place };
