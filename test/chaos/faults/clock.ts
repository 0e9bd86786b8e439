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

/** Jumps of the same clock. */
export const clockJumps: Fault = {
  name: 'clock jumps by hours, again and again',
  backends: both,
  inject: async (deployment, random) => {
    try {
      for (const end = Date.now() + longMs; Date.now() < end; ) {
        deployment.setClock(random.between(-6 * 3_600, 6 * 3_600));
        await pause(random.between(100, 600));
      }
    } finally {
      deployment.setClock(0);
    }
  },
};
