import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../faults.ts';
import { both, longMs, makeDatabaseUnavailable } from './outages.ts';

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

const threeDays = 3 * 86_400;
const families = ['receipt', 'consent_form', 'review_request'];

/** The clock of receivers is wrong by more than an event time may be ahead, and by more than data is kept. */
export const wrongDays: Fault[] = [threeDays, -threeDays].map((seconds) => ({
  name: `clock of receivers ${seconds > 0 ? 'ahead' : 'behind'} by three days`,
  backends: both,
  deployment: { env: { RETENTION: families.map((family) => `${family}=2d`).join(',') } },
  isPresent: true,
  inject: async (deployment, random) => {
    deployment.setClock(seconds, random.chance(0.5) ? 'receiver' : undefined);
    try {
      await pause(longMs);
      // The difference of the clocks is known from before.
      const restore = makeDatabaseUnavailable(deployment, random);
      await pause(longMs).finally(restore);
    } finally {
      deployment.setClock(0);
    }
  },
}));
