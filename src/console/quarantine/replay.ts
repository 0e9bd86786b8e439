import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { Intake } from '../../intake/intake.ts';
import { countQuarantine, type QuarantineFilter } from '../../intake/quarantine-rows.ts';
import { replayQuarantine } from '../../intake/replay-quarantine.ts';
import { quarantineReasons, type Tables } from '../../store/tables.ts';
import { BadInput } from '../errors.ts';
import { parseLocal } from '../ui/time.ts';

/** No more than this at once: who waits for a page has only so much time. */
export const atOnce = 1_000;

export interface Replayed {
  matching: number;
  /** Duplicates included. */
  accepted: number;
  duplicates: number;
  rejected: number;
  reasons: { reason: string; bodies: number; example: string }[];
}

/** Which bodies a form means. Nothing chosen would be all of them, which has to be said: `all`. */
export function readQuarantineForm(
  form: Record<string, unknown>,
  timezone: string,
): { filter: QuarantineFilter; values: Record<string, string | undefined> } {
  const text = z.string().trim().max(100).optional();
  const moment = text.transform((value, context) => {
    const at = value ? parseLocal(value, timezone) : undefined;
    if (value && !at) context.addIssue({ code: 'custom', message: 'A time is a date and a time of day.' });
    return at;
  });
  const filled = Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''));
  const schema = z.object({
    id: z.guid('An id is a UUID.').optional(),
    reason: z.enum(quarantineReasons).optional(),
    faults: text,
    since: moment,
    until: moment,
    /** When the dry run was: what has come since was not seen. */
    asOf: z.coerce.number().int().positive().max(8.64e15).optional(),
  });
  const parsed = schema.safeParse(filled);
  if (!parsed.success) throw new BadInput(parsed.error.issues.map(({ message }) => message).join(' '));
  const { asOf, ...filter } = parsed.data;
  const isNarrowed = Object.values(filter).some((value) => value !== undefined);
  if (!isNarrowed && filled.all !== 'yes') throw new BadInput('Choose something, or say that all are meant.');
  const values = Object.fromEntries(
    [...Object.keys(schema.shape), 'all'].map((name) => [
      name,
      typeof filled[name] === 'string' ? filled[name] : undefined,
    ]),
  );
  if (asOf) filter.until = new Date(Math.min(asOf, filter.until?.getTime() ?? asOf));
  return { filter, values };
}

/** Replays bodies, or finds out what that would do. */
export async function replayBodies(
  db: Kysely<Tables>,
  filter: QuarantineFilter,
  intake: Pick<Intake, 'replay'>,
  options: { dryRun: boolean },
): Promise<Replayed> {
  const found: Replayed = {
    matching: await countQuarantine(db, filter),
    accepted: 0,
    duplicates: 0,
    rejected: 0,
    reasons: [],
  };
  for await (const { quarantineId, result } of replayQuarantine(db, filter, intake, options)) {
    if (result.outcome === 'rejected') {
      found.rejected += 1;
      const known = found.reasons.find(({ reason }) => reason === result.reason);
      if (known) known.bodies += 1;
      else if (found.reasons.length < 20) {
        found.reasons.push({ reason: result.reason, bodies: 1, example: quarantineId });
      }
    } else {
      found.accepted += 1;
      if (result.outcome === 'duplicate') found.duplicates += 1;
    }
    if (found.accepted + found.rejected >= atOnce) break;
  }
  return found;
}
