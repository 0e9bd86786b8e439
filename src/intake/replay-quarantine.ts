import { addMessage, type MessageGroup } from '../common/message-groups.ts';
import type { Db } from '../store/tables.ts';
import type { Intake } from './intake.ts';
import { markReplayed, type QuarantineFilter, readQuarantine } from './quarantine-rows.ts';

export type QuarantineOutcome = Awaited<ReturnType<typeof replayQuarantine>>;

/**
 * Replays rows of the quarantine that were not corrected, one after the other, and marks those that were not rejected.
 *
 * @returns `accepted` includes the duplicates; `notStored`: expired or erased ones
 * @throws Unavailable
 */
export async function replayQuarantine(
  db: Db,
  filter: QuarantineFilter,
  intake: Pick<Intake, 'replay'>,
  options: { dryRun: boolean; limit?: number; onProgress?: () => void },
) {
  const { dryRun, limit = Number.POSITIVE_INFINITY, onProgress } = options;
  const outcome = { accepted: 0, duplicates: 0, notStored: 0, rejected: 0, reasons: [] as MessageGroup[] };
  for await (const { id, body, path, delivery_id } of readQuarantine(db, { ...filter, corrected: false })) {
    const result = await intake.replay(body, path, { dryRun, deliveryId: delivery_id });
    if (result.outcome === 'rejected') {
      outcome.rejected += 1;
      addMessage(outcome.reasons, result.reason, id);
    } else {
      if (!dryRun) await markReplayed(db, id);
      if (result.outcome === 'expired' || result.outcome === 'erased') outcome.notStored += 1;
      else outcome.accepted += 1;
      if (result.outcome === 'duplicate') outcome.duplicates += 1;
    }
    onProgress?.();
    if (outcome.accepted + outcome.notStored + outcome.rejected >= limit) break;
  }
  return outcome;
}

/** What the outcome of a dry run means. */
export const adviceOn = ({ accepted, notStored, rejected }: QuarantineOutcome): string =>
  [
    accepted === 0 && 'A replay would accept nothing.',
    accepted + notStored + rejected === 0 &&
      'Of a body that was corrected, only the correction can be replayed.',
    rejected > 0 && 'Bodies that are still rejected can be corrected on their pages of the console.',
    notStored > 0 && 'What would not be stored is past its retention: it can be dropped.',
  ]
    .filter(Boolean)
    .join(' ');
