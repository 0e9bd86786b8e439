import type { Feature } from '../feature.ts';
import { addCallbackCommands } from './commands.ts';
import { mergeStale } from './merge-stale.ts';

const dayMs = 24 * 3_600_000;

/** What reads callbacks, and receives or merges them again: search, records, deliveries, the quarantine, stale rows. */
export const callbacks: Feature = {
  name: 'callbacks',
  tasks: (core) => [{ name: 'stale', everyMs: dayMs, run: (signal) => mergeStale(core, signal) }],
  commands: addCallbackCommands,
};
