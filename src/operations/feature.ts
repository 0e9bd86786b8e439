import { takesCallbacks } from '../common/config/config.ts';
import { dayMs } from '../common/days.ts';
import type { Feature, Task } from '../receiver/feature.ts';
import { createOutageAlert, sendAlerts } from './alerts.ts';
import { openChannels } from './channels.ts';
import { addOperationsCommands } from './commands.ts';
import { readDatabaseChecks } from './database-checks.ts';
import { createRoute } from './health-route.ts';
import { createHeartbeat, trim } from './heartbeat.ts';
import { createLossRecorder } from './lost.ts';
import { recordSilence } from './silence.ts';

const minuteMs = 60_000;

export const operations: Feature = {
  name: 'operations',
  routes: createRoute,
  commands: addOperationsCommands,
  checks: readDatabaseChecks,
  tasks: (core) => {
    const { alerts } = core.config;
    const tasks: Task[] = [
      { name: 'trim', everyMs: dayMs, run: () => trim(core.db) },
      { name: 'silence', everyMs: 10 * minuteMs, run: () => recordSilence(core.db) },
    ];
    if (takesCallbacks(core.config))
      tasks.push(
        { name: 'heartbeat', everyMs: minuteMs, processes: 'each', run: createHeartbeat(core) },
        { name: 'lost', everyMs: minuteMs, processes: 'each', run: createLossRecorder(core) },
      );
    if (openChannels(alerts).length === 0) return tasks;
    const run = (signal: AbortSignal) => sendAlerts(core, signal);
    // A receiver has to report that no worker runs.
    tasks.push({ name: 'alerts', everyMs: minuteMs, processes: 'any', run });
    tasks.push({ name: 'outage', everyMs: minuteMs, processes: 'each', run: createOutageAlert(core) });
    return tasks;
  },
};
