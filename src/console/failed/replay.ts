import type { Kysely } from 'kysely';
import { z } from 'zod';
import { countDeliveries, type ReplayFilter, replayDeliveries } from '../../apply/replay.ts';
import type { Family } from '../../families/index.ts';
import type { Tables } from '../../store/tables.ts';
import { BadInput } from '../errors.ts';
import { parseLocal } from '../ui/time.ts';

/** No more than this at once: who waits for a page, and the proxy in between, have only so much time. */
export const atOnce = 2_000;

export interface Outcome {
  /** How many deliveries match. */
  matching: number;
  applied: number;
  changed: number;
  failed: number;
  /** What is wrong with those that fail, and how many there are of each. */
  errors: { error: string; deliveries: number; example: string }[];
}

const text = z.string().trim().max(500).optional();

/**
 * Reads which deliveries to apply again out of a form.
 *
 * @returns the filter, and the form's fields to send again
 * @throws BadInput
 */
export function readReplayForm(
  form: Record<string, unknown>,
  families: readonly Family[],
  timezone: string,
): { filter: ReplayFilter; values: Record<string, string | undefined> } {
  const moment = text.transform((value, context) => {
    const at = value ? parseLocal(value, timezone) : undefined;
    if (value && !at) context.addIssue({ code: 'custom', message: 'A time is a date and a time of day.' });
    return at;
  });
  const filled = Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''));
  const parsed = z
    .object({
      status: z.enum(['failed', 'applied']).default('failed'),
      family: z.enum(families.map(({ name }) => name)).optional(),
      event: z.enum(families.flatMap(({ events }) => [...events])).optional(),
      businessId: text,
      id: z.guid('An id is a UUID.').optional(),
      error: text,
      since: moment,
      until: moment,
    })
    .safeParse(filled);
  if (!parsed.success) throw new BadInput(parsed.error.issues.map(({ message }) => message).join(' '));
  if (parsed.data.status === 'applied' && !parsed.data.id) {
    throw new BadInput('What was applied is applied again one by one only.');
  }
  const names = Object.keys(parsed.data);
  const values = Object.fromEntries(
    names.map((name) => [name, typeof filled[name] === 'string' ? filled[name] : undefined]),
  );
  return { filter: parsed.data, values };
}

/** Applies deliveries again, or finds out what that would do. */
export async function replayNow(
  db: Kysely<Tables>,
  families: readonly Family[],
  filter: ReplayFilter,
  options: { dryRun: boolean },
): Promise<Outcome> {
  const outcome: Outcome = {
    matching: await countDeliveries(db, filter),
    applied: 0,
    changed: 0,
    failed: 0,
    errors: [],
  };
  for await (const { applied, changed, failed } of replayDeliveries(db, families, filter, options)) {
    outcome.applied += applied;
    outcome.changed += changed;
    outcome.failed += failed.length;
    for (const { id, error } of failed) {
      const known = outcome.errors.find((group) => group.error === error);
      if (known) known.deliveries += 1;
      else if (outcome.errors.length < 20) outcome.errors.push({ error, deliveries: 1, example: id });
    }
    if (outcome.applied + outcome.failed >= atOnce) break;
  }
  return outcome;
}
