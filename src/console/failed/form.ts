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
  const { data: filter, entered } = readForm(form, {
    status: oneOf(['failed', 'applied']),
    ...familyFields(families),
    businessId: text,
    id: guid,
    error: text,
    since: localTime(timezone),
    until: localTime(timezone),
  });
  if (filter.status === 'applied' && !filter.id && filter.family !== other.name) {
    throw new BadInput('Applied deliveries can only be replayed one at a time, by id.');
  }
  return { filter, entered };
}
