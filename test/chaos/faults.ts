import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../src/sandbox/random.ts';
import { awayFaults, longMs } from './faults/away.ts';
import { clockFaults } from './faults/clock.ts';
import { queueFaults } from './faults/queue.ts';
import { refusalFaults } from './faults/refusals.ts';
import { tableFaults } from './faults/tables.ts';
import { fillDisk } from './small-disk.ts';
import type { Backend, Stage } from './stage.ts';

export interface Fault {
  name: string;
  backends: Backend[];
  /** Breaks something, and mends it. */
  strike: (stage: Stage, random: Random) => Promise<void>;
}

/** What can happen to the machines, at a moment that nobody chose. */
export const faults: Fault[] = [
  ...awayFaults,
  ...refusalFaults,
  ...tableFaults,
  ...queueFaults,
  ...clockFaults,
];

/** Needs a stage whose database is on a small disk. */
export const fullDisk: Fault = {
  name: 'disk full for 3 s',
  backends: ['redis', 'postgresql'],
  strike: async ({ folder }) => {
    const makeRoom = await fillDisk(folder);
    await pause(longMs);
    await makeRoom();
  },
};

/** Needs a stage with a synchronous standby, and strikes it once. */
export const failover: Fault = {
  name: 'standby promoted',
  backends: ['redis', 'postgresql'],
  strike: ({ failOver }) => failOver(),
};
