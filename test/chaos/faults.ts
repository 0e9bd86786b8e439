import { setTimeout as pause } from 'node:timers/promises';
import { fillDisk } from './small-disk.ts';
import type { Backend, Stage } from './stage.ts';

export interface Fault {
  name: string;
  backends: Backend[];
  /** Breaks something, and mends it. */
  strike: (stage: Stage) => Promise<void>;
}

const both: Backend[] = ['redis', 'postgresql'];

// Longer than any time-out of the service.
const longMs = 3_000;

async function killAndStart(stage: Stage, role: 'receiver' | 'worker'): Promise<void> {
  await stage.processOf(role).end('SIGKILL');
  await stage.start(role);
}

async function stopDatabase(stage: Stage): Promise<void> {
  stage.signalDatabase('STOP');
  await pause(longMs);
  stage.signalDatabase('CONT');
}

async function killRedis({ redis }: Stage): Promise<void> {
  redis!.process.kill('SIGKILL');
  await pause(500);
  await redis!.restart();
}

/** What can happen to the machines, at a moment that nobody chose. */
export const faults: Fault[] = [
  { name: 'receiver killed', backends: both, strike: (stage) => killAndStart(stage, 'receiver') },
  { name: 'worker killed', backends: both, strike: (stage) => killAndStart(stage, 'worker') },
  { name: 'PostgreSQL killed', backends: both, strike: async (stage) => stage.signalDatabase('KILL') },
  { name: 'PostgreSQL stopped for 3 s', backends: both, strike: stopDatabase },
  { name: 'Redis killed', backends: ['redis'], strike: killRedis },
  {
    name: 'Redis stopped for 3 s',
    backends: ['redis'],
    strike: async ({ redis }) => {
      redis!.process.kill('SIGSTOP');
      await pause(longMs);
      redis!.process.kill('SIGCONT');
    },
  },
  {
    name: 'Redis wiped',
    backends: ['redis'],
    strike: async ({ redis }) => {
      await redis!.client().flushall();
    },
  },
  {
    name: 'PostgreSQL stopped, Redis killed',
    backends: ['redis'],
    strike: async (stage) => {
      await Promise.all([stopDatabase(stage), killRedis(stage)]);
    },
  },
  { name: 'connections reset', backends: both, strike: async ({ link }) => link.reset() },
  {
    name: 'slow link',
    backends: both,
    strike: async ({ link }) => {
      link.slow(60);
      await pause(longMs);
      link.slow(0);
    },
  },
];

/** Needs a stage whose database is on a small disk. */
export const fullDisk: Fault = {
  name: 'disk full for 3 s',
  backends: both,
  strike: async ({ folder }) => {
    const makeRoom = await fillDisk(folder);
    await pause(longMs);
    await makeRoom();
  },
};
