import { type Family, other } from '../../families/index.ts';
import { BadInput } from '../errors.ts';
import { familyFields, guid, localTime, oneOf, readForm, text } from '../read-form.ts';

/**
 * Reads which deliveries to replay out of a form.
 *
 * @returns the filter, and the form's fields to send again
 * @throws BadInput
 */
export function readReplayForm(form: Record<string, unknown>, families: readonly Family[], timezone: string) {
  // A page of an earlier version names the business otherwise; without it, all would be replayed.
  const { data, entered } = readForm(
    { business: form.businessId, ...form },
    {
      status: oneOf(['failed', 'applied']),
      ...familyFields(families),
      business: text,
      id: guid,
      error: text,
      since: localTime(timezone),
      until: localTime(timezone),
    },
  );
  const { business: businessId, ...others } = data;
  const filter = { ...others, businessId };
  if (filter.status === 'applied' && !filter.id && filter.family !== other.name) {
    throw new BadInput('Applied deliveries can only be replayed one at a time, by id.');
  }
  return { filter, entered };
}
