import { z } from 'zod';
import { countQuarantine, type QuarantineFilter } from '../../intake/quarantine-rows.ts';
import { adviceOn, replayQuarantine } from '../../intake/replay-quarantine.ts';
import { quarantineReasons } from '../../store/tables.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { BadInput } from '../errors.ts';
import type { Replay } from '../problems/replay.tsx';
import { choice, guid, localTime, readForm, text } from '../read-form.ts';

/** The filter of the list of rejected bodies. */
export const filterOf = (timezone: string) => ({
  reason: choice('Reason', quarantineReasons),
  since: localTime(timezone, 'Last received from'),
  until: localTime(timezone, 'Last received before'),
  faults: text,
});

/**
 * Which bodies to replay or drop, and the form's fields to send again. An empty form selects all only where `all` says so.
 *
 * @throws BadInput
 */
export function readSelection(form: Record<string, unknown>, timezone: string) {
  const { data, entered } = readForm(form, {
    ...filterOf(timezone),
    id: guid,
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

type Dependencies = Pick<RouteDependencies, 'db' | 'intake' | 'timezone'>;

/** The replay of rejected bodies. */
export const replayOfBodies = ({ db, intake, timezone }: Dependencies): Replay<QuarantineFilter> => ({
  section: 'quarantine',
  address: '/quarantine/replay',
  preview: '/quarantine/preview',
  read: (form) => readSelection(form, timezone),
  count: (filter) => countQuarantine(db, { ...filter, corrected: false }),
  entry: (filter) => ({ action: 'quarantine replay', filter: { ...filter } }),
  async run(filter, options) {
    const outcome = await replayQuarantine(db, filter, intake, options);
    const { accepted, duplicates, notStored, rejected, reasons: messages } = outcome;
    const tried = accepted + notStored + rejected;
    return {
      figures: [
        ['Would be accepted', 'Accepted', accepted],
        ['Of these, duplicates', 'Of these, duplicates', duplicates],
        ...(notStored > 0 ? ([['Would not be stored', 'Not stored', notStored]] as const) : []),
        ['Would still be rejected', 'Still rejected', rejected],
      ],
      messages,
      tried,
      useful: accepted > 0 ? tried - rejected : 0,
      advice: adviceOn(outcome),
    };
  },
});
