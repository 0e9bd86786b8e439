import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../support/until.ts';
import type { Fault } from '../faults.ts';
import type { DiskFault } from '../faulty-disk.ts';
import { both, longMs } from './outages.ts';

/** The disk has a fault for files of PostgreSQL, which writes all kinds of them meanwhile. */
const ofDatabase =
  (fault: DiskFault, pattern: string): Fault['inject'] =>
  async (deployment) => {
    const { disk, rows } = deployment;
    disk!.set(fault, pattern);
    try {
      for (const end = Date.now() + longMs; Date.now() < end; ) {
        await Promise.race([rows('checkpoint').catch(() => {}), pause(end - Date.now())]);
        await pause(100);
      }
    } finally {
      disk!.set('none');
    }
    // One that hangs is ended after 10 s, and started again after at most 30 s.
    await until(() => rows('select 1').then(Boolean, () => false));
  };

/** The disk has a fault for files of Redis, while PostgreSQL is unavailable. A Redis that ends is started again. */
const ofRedis =
  (fault: DiskFault, pattern: string): Fault['inject'] =>
  async ({ disk, link, redis }) => {
    link.cut();
    try {
      await pause(500);
      disk!.set(fault, pattern);
      const client = redis!.client();
      client.on('error', () => {});
      void client.bgrewriteaof().catch(() => {}); // it writes a base file and a manifest
      await pause(longMs);
      client.disconnect();
    } finally {
      disk!.set('none');
      const { exitCode, signalCode } = redis!.process;
      if (exitCode !== null || signalCode !== null) await redis!.restart();
      await link.restore();
    }
  };

const database: Record<string, [DiskFault, pattern: string]> = {
  'slow disk of PostgreSQL': ['slow', '*/database/*'],
  'fsync of the WAL fails': ['failing sync', '*/pg_wal/*'],
  'fsync of data files fails': ['failing sync', '*/database/base/*'],
  'fsync of pg_control fails': ['failing sync', '*/global/pg_control'],
  'no space for the WAL': ['full', '*/pg_wal/*'],
  'no space for data files': ['full', '*/database/base/*'],
  'disk of PostgreSQL read-only': ['read-only', '*/database/*'],
};

const redis: Record<string, [DiskFault, pattern: string]> = {
  'slow disk of Redis': ['slow', '*/appendonlydir/*'],
  'fsync of the AOF fails': ['failing sync', '*/appendonlydir/*.incr.aof'],
  'fsync of the rewritten AOF fails': ['failing sync', '*/temp-rewriteaof*'],
  "fsync of the AOF's manifest fails": ['failing sync', '*manifest'],
  'no space for the AOF': ['full', '*/appendonlydir/*'],
  'disk of Redis read-only': ['read-only', '*/receiver-redis-*'],
};

/** Disks that are slow, or fail, for 3 s. The disks are those of a deployment that was given one. */
export const diskFaults: Fault[] = [
  ...Object.entries(database).map(([name, [fault, pattern]]) => ({
    name,
    backends: both,
    // The recovery of PostgreSQL may take longer than a short run.
    isLong: fault === 'failing sync',
    inject: ofDatabase(fault, pattern),
  })),
  ...Object.entries(redis).map(([name, [fault, pattern]]) => ({
    name: `PostgreSQL unreachable, and ${name}`,
    backends: ['redis'] as Fault['backends'],
    inject: ofRedis(fault, pattern),
  })),
];
