import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../faults.ts';
import { both, longMs } from './away.ts';

/** The wall clock of receivers and workers is stepped, and set right again. */
export const clockFaults: Fault[] = [600, -600].map((seconds) => ({
  name: `clock ${seconds > 0 ? 'ahead' : 'behind'} by 10 minutes for 3 s`,
  backends: both,
  strike: async (stage) => {
    stage.setClock(seconds);
    try {
      await pause(longMs);
    } finally {
      stage.setClock(0);
    }
  },
}));
