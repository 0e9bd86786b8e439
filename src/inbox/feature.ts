import { dayMs } from '../common/days.ts';
import type { Feature } from '../receiver/feature.ts';
import { mergeStale } from '../receiver/worker/merge-stale.ts';
import { addInboxCommands } from './commands.ts';

export const inbox: Feature = {
  name: 'inbox',
  tasks: (core) => [{ name: 'stale', everyMs: dayMs, run: (signal) => mergeStale(core, signal) }],
  commands: addInboxCommands,
};
