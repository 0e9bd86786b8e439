import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { ReadmitParts } from '../../intake/intake.ts';
import { readmitRows } from '../../intake/replay-quarantine.ts';
import { countQuarantine, type QuarantineFilter } from '../../intake/quarantine-rows.ts';
import type { Tables } from '../../store/tables.ts';
import { BadInput } from '../errors.ts';
import { parseLocal } from '../ui/time.ts';

/** No more than this at once: who waits for a page has only so much time. */
export const atOnce = 1_000;

export interface Readmitted {
  matching: number;
  /** Taken in, or found to be there already. */
  takenIn: number;
  duplicates: number;
  refused: number;
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
    reason: text,
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

/** Takes bodies in that fit today, or (without an inbox) finds out which would. */
export async function readmitNow(
  db: Kysely<Tables>,
  filter: QuarantineFilter,
  parts: ReadmitParts,
): Promise<Readmitted> {
  const found: Readmitted = {
    matching: await countQuarantine(db, filter),
    takenIn: 0,
    duplicates: 0,
    refused: 0,
    reasons: [],
  };
  for await (const { quarantineId, result } of readmitRows(db, filter, parts)) {
    if (result.outcome === 'still refused') {
      found.refused += 1;
      const known = found.reasons.find(({ reason }) => reason === result.reason);
      if (known) known.bodies += 1;
      else if (found.reasons.length < 20) {
        found.reasons.push({ reason: result.reason, bodies: 1, example: quarantineId });
      }
    } else {
      found.takenIn += 1;
      if (result.outcome === 'duplicate') found.duplicates += 1;
    }
    if (found.takenIn + found.refused >= atOnce) break;
  }
  return found;
}
