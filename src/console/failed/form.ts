import { z } from 'zod';
import type { ReplayFilter } from '../../apply/replay.ts';
import type { Family } from '../../families/index.ts';
import { BadInput } from '../errors.ts';
import { localTime, readForm, shortText } from '../read-form.ts';

/**
 * Reads which deliveries to replay out of a form.
 *
 * @returns the filter, and the form's fields to send again
 * @throws BadInput
 */
export function readReplayForm(
  form: Record<string, unknown>,
  families: readonly Family[],
  timezone: string,
): { filter: ReplayFilter; values: Record<string, string | undefined> } {
  const { data, values } = readForm(form, {
    status: z.enum(['failed', 'applied']).default('failed'),
    family: z.enum(families.map(({ name }) => name)).optional(),
    event: z.enum(families.flatMap(({ events }) => [...events])).optional(),
    businessId: shortText.optional(),
    id: z.guid('An id must be a UUID.').optional(),
    error: shortText.optional(),
    since: localTime(timezone).optional(),
    until: localTime(timezone).optional(),
  });
  if (data.status === 'applied' && !data.id) {
    throw new BadInput('Applied deliveries can only be replayed one at a time, by id.');
  }
  return { filter: data, values };
}
