import { z } from 'zod';
import { quarantineReasons } from '../../store/tables.ts';
import { BadInput } from '../errors.ts';
import { guid, localTime, oneOf, readForm, text } from '../read-form.ts';

/**
 * Reads which bodies to replay or drop out of a form. An empty form selects all of them only where `all` says so.
 *
 * @returns the filter, and the form's fields to send again
 * @throws BadInput
 */
export function readQuarantineForm(form: Record<string, unknown>, timezone: string) {
  const { data, entered } = readForm(form, {
    id: guid,
    reason: oneOf(quarantineReasons),
    faults: text,
    since: localTime(timezone),
    until: localTime(timezone),
    /** When the preview was: bodies received since then are left out. */
    asOf: z.coerce.number().int().positive().max(8.64e15),
    all: text,
  });
  const { asOf, all, ...filter } = data;
  if (Object.keys(filter).length === 0 && all !== 'yes') {
    throw new BadInput('Set a filter, or choose to select all.');
  }
  if (asOf) filter.until = new Date(Math.min(asOf, filter.until?.getTime() ?? asOf));
  return { filter, entered };
}
