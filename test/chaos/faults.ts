import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../src/sandbox/random.ts';
import type { Backend, Deployment, DeploymentOptions } from './deployment.ts';
import { clockFaults, clockJumps, wrongDays } from './faults/clock.ts';
import { diskFaults } from './faults/disk.ts';
import { frozenProcessFaults } from './faults/frozen.ts';
import { lockFaults } from './faults/locks.ts';
import { networkFaults } from './faults/network.ts';
import { longMs, outageFaults } from './faults/outages.ts';
import { queueFaults } from './faults/queue.ts';
import { redisSettingFaults } from './faults/redis-settings.ts';
import { refusingQueueFaults } from './faults/refusing-queue.ts';
import { rejectedWriteFaults } from './faults/rejected-writes.ts';
import { stateFaults } from './faults/states.ts';
import { storeErrorFaults } from './faults/store-errors.ts';
import { tableFaults } from './faults/tables.ts';
import { whyNoFaultyDisk } from './faulty-disk.ts';
import type { Run } from './run-fault.ts';
import { fillDisk, mayMount } from './small-disk.ts';

export interface Fault<Target = Deployment> {
  name: string;
  backends: Backend[];
  /** What it needs of a deployment of its own. Default: it shares one with other faults. */
  deployment?: DeploymentOptions;
  /** Whether callbacks are about the time when they are sent. Default: about January 2025. */
  isPresent?: boolean;
  /** Whether it takes too long for a short run. */
  isLong?: boolean;
  /** How long it may take until everything is applied afterwards. Default: a minute. */
  healsWithinMs?: number;
  /**
   * Breaks something, and repairs it.
   *
   * @throws PromiseBroken; Error where it could not be repaired
   */
  inject: (deployment: Target, random: Random, run: Run) => Promise<void>;
}

/** Every fault, by its class. */
export const classes: Record<string, Fault[]> = {
  'processes, servers and links': outageFaults,
  'Redis rejects writes': rejectedWriteFaults,
  'settings of Redis': redisSettingFaults,
  'frozen processes': frozenProcessFaults,
  tables: tableFaults,
  'locked by others': lockFaults,
  'states deleted': stateFaults,
  queue: queueFaults,
  'a queue that refuses': refusingQueueFaults,
  clock: clockFaults,
  'clock wrong by days': wrongDays,
  'clock jumps': [clockJumps],
  network: networkFaults,
  'errors of the store': storeErrorFaults,
  disk: diskFaults,
};

/** What is not injected here, each with the reason. */
export function notDrawn(): string[] {
  const noDisk = whyNoFaultyDisk();
  return [
    ...(noDisk ? [`slow and failing disks, because ${noDisk}`] : []),
    ...(mayMount() ? [] : [`"${fullDisk.name}", because this user may not mount a disk`]),
    'lost, repeated and reordered packets, because links are TCP proxies',
    'a mounted disk that becomes read-only, because Linux refuses that while files are open to write; the writes of the servers fail instead',
    'the limit of transaction ids, because the embedded PostgreSQL has no pg_resetwal',
    'revoked permissions, because the receiver is a superuser here; a trigger raises their error instead',
  ];
}

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
