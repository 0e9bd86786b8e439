import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../src/sandbox/random.ts';
import type { Backend, Deployment } from './deployment.ts';
import { clockFaults } from './faults/clock.ts';
import { longMs, outageFaults } from './faults/outages.ts';
import { queueFaults } from './faults/queue.ts';
import { rejectedWriteFaults } from './faults/rejected-writes.ts';
import { tableFaults } from './faults/tables.ts';
import { fillDisk } from './small-disk.ts';

export interface Fault<Target = Deployment> {
  name: string;
  backends: Backend[];
  /** Breaks something, and repairs it. */
  inject: (deployment: Target, random: Random) => Promise<void>;
}

/** Failures of servers, processes and links, at random moments. */
export const faults: Fault[] = [
  ...outageFaults,
  ...rejectedWriteFaults,
  ...tableFaults,
  ...queueFaults,
  ...clockFaults,
];

/** For a deployment whose database is on a small disk. */
export const fullDisk: Fault = {
  name: 'disk full for 3 s',
  backends: ['redis', 'postgresql'],
  inject: async ({ folder }) => {
    const freeSpace = await fillDisk(folder);
    await pause(longMs);
    await freeSpace();
  },
};

/** For a deployment with a synchronous standby; can be injected once. */
export const failover: Fault = {
  name: 'standby promoted',
  backends: ['redis', 'postgresql'],
  inject: async ({ failOver }) => void (await failOver()),
};
