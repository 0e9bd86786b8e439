import { setTimeout as pause } from 'node:timers/promises';
import { spawnReceiver } from '../../support/process.ts';
import type { Deployment } from '../deployment.ts';
import type { Fault } from '../faults.ts';
import { both } from './outages.ts';

const deletions: Record<string, string> = {
  'half of pending_deliveries deleted': 'delete from pending_deliveries where random() < 0.5',
  'pending_deliveries truncated': 'truncate pending_deliveries',
  'a tenth of applied_deliveries deleted': 'delete from applied_deliveries where random() < 0.1',
  'failed_deliveries deleted': 'delete from failed_deliveries',
};

/** Several times: what was received last is pending for a moment only. */
async function deleteStates({ rows }: Deployment, statement: string): Promise<void> {
  await pause(1_000); // so that this run has some of each
  for (let times = 0; times < 5; times += 1) {
    await rows(statement);
    await pause(100);
  }
}

async function replay({ databaseUrl }: Deployment): Promise<void> {
  const command = spawnReceiver(['replay', '--status', 'received'], { DATABASE_URL: databaseUrl });
  if ((await command.end()) !== 0) throw new Error(`The replay failed: ${command.output()}`);
}

/** Somebody deletes the states of deliveries. */
export const stateFaults: Fault[] = [
  ...Object.entries(deletions).map(
    ([name, statement]): Fault => ({
      name,
      backends: both,
      inject: async (deployment, random, run) => {
        await deleteStates(deployment, statement);
        if (random.chance(0.5)) await run.resendUnapplied();
        // Also for what earlier runs of this deployment had.
        await replay(deployment);
      },
    }),
  ),
  {
    name: 'states deleted, and found by the pass of five minutes',
    backends: both,
    isLong: true,
    healsWithinMs: 7 * 60_000,
    inject: async (deployment, random) => {
      await deleteStates(deployment, random.pick(Object.values(deletions)));
    },
  },
];
