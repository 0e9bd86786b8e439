import { z } from 'zod';
import { countQuarantine, type QuarantineFilter } from '../../intake/quarantine-rows.ts';
import { replayQuarantine } from '../../intake/replay-quarantine.ts';
import { quarantineReasons } from '../../store/tables.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { BadInput } from '../errors.ts';
import type { Replay } from '../problems/replay.tsx';
import { guid, localTime, oneOf, readForm, text } from '../read-form.ts';

export const previewBodies = '/quarantine/preview';

/**
 * Which bodies to replay or drop, and the form's fields to send again. An empty form selects all only where `all` says so.
 *
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

/** The replay of rejected bodies. */
export function replayOfBodies({
  db,
  intake,
  timezone,
}: Pick<RouteDependencies, 'db' | 'intake' | 'timezone'>): Replay<QuarantineFilter> {
  return {
    section: 'quarantine',
    preview: previewBodies,
    replay: '/quarantine/replay',
    read: (form) => readQuarantineForm(form, timezone),
    count: (filter) => countQuarantine(db, { ...filter, corrected: false }),
    entry: (filter) => ({ action: 'quarantine replay', filter: { ...filter } }),
    async run(filter, options) {
      const outcome = await replayQuarantine(db, filter, intake, options);
      const { accepted, duplicates, notStored, rejected, reasons } = outcome;
      const tried = accepted + notStored + rejected;
      const advice = [
        accepted === 0 && 'A replay would accept nothing.',
        tried === 0 && 'Of a body that was corrected, only the correction can be replayed.',
        rejected > 0 && 'Bodies that are still rejected can be corrected on their pages.',
        notStored > 0 && 'What would not be stored is past its retention: it can be dropped.',
      ];
      return {
        figures: [
          ['Would be accepted', 'Accepted', accepted],
          ['Of these, duplicates', 'Of these, duplicates', duplicates],
          ...(notStored > 0 ? ([['Would not be stored', 'Not stored', notStored]] as const) : []),
          ['Would still be rejected', 'Still rejected', rejected],
        ],
        messages: reasons,
        tried,
        useful: accepted > 0 ? tried - rejected : 0,
        advice: advice.filter(Boolean).join(' '),
      };
    },
  };
}
