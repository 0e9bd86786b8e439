import { z } from 'zod';
import type { QuarantineFilter } from '../../intake/quarantine-rows.ts';
import { quarantineReasons } from '../../store/tables.ts';
import { BadInput } from '../errors.ts';
import { localTime, readForm, shortText } from '../read-form.ts';

/**
 * Reads which bodies to replay or drop out of a form. An empty form selects all of them only where `all` says so.
 *
 * @returns the filter, and the form's fields to send again
 * @throws BadInput
 */
export function readQuarantineForm(
  form: Record<string, unknown>,
  timezone: string,
): { filter: QuarantineFilter; values: Record<string, string | undefined> } {
  const { data, values } = readForm(form, {
    id: z.guid('An id must be a UUID.').optional(),
    reason: z.enum(quarantineReasons).optional(),
    faults: shortText.optional(),
    since: localTime(timezone).optional(),
    until: localTime(timezone).optional(),
    /** When the preview was: bodies received since then are left out. */
    asOf: z.coerce.number().int().positive().max(8.64e15).optional(),
    all: shortText.optional(),
  });
  const { asOf, all, ...filter } = data;
  const isNarrowed = Object.values(filter).some((value) => value !== undefined);
  if (!isNarrowed && all !== 'yes') throw new BadInput('Set a filter, or choose to select all.');
  if (asOf) filter.until = new Date(Math.min(asOf, filter.until?.getTime() ?? asOf));
  return { filter, values };
}
