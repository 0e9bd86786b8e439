import { dayMs } from '../common/days.ts';
import type { Feature } from '../receiver/feature.ts';
import { createChangesRoute } from './changes-route.ts';
import { addDestinationsCommand } from './commands.ts';
import { checkDestinations } from './destinations.ts';
import { trimChanges } from './read-changes.ts';
import { sendWebhooks } from './send.ts';

export const feed: Feature = {
  name: 'feed',
  routes: createChangesRoute,
  tasks: (core) => [
    {
      name: 'destinations',
      everyMs: core.config.times.webhookEveryMs,
      run: (signal) => sendWebhooks(core, signal),
    },
    { name: 'changes', everyMs: dayMs, run: () => trimChanges(core) },
  ],
  commands: addDestinationsCommand,
  checks: checkDestinations,
};
