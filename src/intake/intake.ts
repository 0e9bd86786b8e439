import type { z } from 'zod';
import type { AnyEnvelope, Family } from '../families/index.ts';
import type { Drift } from './drift.ts';
import { identify } from './identity.ts';
import type { Inbox } from './inbox.ts';
import { Unavailable } from './unavailable.ts';
import type { Door } from '../http/access/access-checks.ts';
import { parseCallback } from './parse-callback.ts';

export interface ReadmitParts {
  families: readonly Family[];
  schema: z.ZodType<AnyEnvelope>;
  door: Pick<Door, 'checkParties'>;
  /** Left out: nothing is taken in, only looked at. */
  inbox: Pick<Inbox, 'append'> | undefined;
  drift: Pick<Drift, 'observe'>;
}

export type Readmission =
  | { outcome: 'accepted' | 'duplicate' | 'would be taken in'; id: string }
  | { outcome: 'still refused'; reason: string };

/**
 * Tries a body of the quarantine again with today's schemas, and takes it in like any delivery. At which
 * path it came in no longer matters: its event says where it belongs.
 *
 * @throws Unavailable where it fits but cannot be stored now
 */
export async function readmit(
  body: Buffer,
  { families, schema, door, inbox, drift }: ReadmitParts,
): Promise<Readmission> {
  try {
    const envelope = parseCallback(body, schema, Date.now());
    door.checkParties(envelope);
    const id = identify(envelope);
    if (!inbox) return { outcome: 'would be taken in', id };
    const family = families.find(({ events }) => events.includes(envelope.event))!.name;
    const outcome = await inbox.append({ id, family, body });
    drift.observe(id, envelope);
    return { outcome, id };
  } catch (error) {
    if (error instanceof Unavailable || !(error instanceof Error)) throw error;
    const faults = 'errors' in error ? (error.errors as { path: string; message: string }[]) : [];
    const reason = faults.map(({ path, message }) => `${path} ${message}`).join('; ');
    return { outcome: 'still refused', reason: reason || error.message };
  }
}
