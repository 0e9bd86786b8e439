import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../faults.ts';
import { both, longMs } from './outages.ts';

/** Steps the wall clock of receivers and workers, and back. */
export const clockFaults: Fault[] = [600, -600].map((seconds) => ({
  name: `clock ${seconds > 0 ? 'ahead' : 'behind'} by 10 minutes for 3 s`,
  backends: both,
  inject: async (deployment) => {
    deployment.setClock(seconds);
    try {
      await pause(longMs);
    } finally {
      deployment.setClock(0);
    }
  },
}));
