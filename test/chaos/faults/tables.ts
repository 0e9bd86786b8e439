import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../src/sandbox/random.ts';
import { withClient } from '../../../src/store/pool.ts';
import type { Deployment } from '../deployment.ts';
import type { Fault } from '../faults.ts';
import { both, longMs } from './outages.ts';

const tables = ['receipts', 'consent_forms', 'review_requests'];

async function lock({ databaseUrl }: Deployment, table: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    await client.query('begin');
    await client.query(`lock table ${table} in access exclusive mode`);
    await pause(longMs);
    await client.query('rollback');
  });
}

/** Statements that make a family's table unusable, and usable again. */
const breakages: ((table: string) => { damage: string; repair: string })[] = [
  (table) => ({
    damage: `alter table ${table} rename to ${table}_elsewhere`,
    repair: `alter table ${table}_elsewhere rename to ${table}`,
  }),
  (table) => ({
    damage: `
      create function reject_write() returns trigger language plpgsql as 'begin raise exception ''not now''; end';
      create trigger reject_write before insert or update on ${table} for each row execute function reject_write()`,
    repair: 'drop function reject_write cascade',
  }),
];

async function breakTable({ rows }: Deployment, random: Random, at: number): Promise<void> {
  const { damage, repair } = breakages[at]!(random.pick(tables));
  await rows(damage);
  try {
    await pause(longMs);
  } finally {
    await rows(repair);
  }
}

/** One table is unusable while PostgreSQL is available. */
export const tableFaults: Fault[] = [
  {
    name: "a family's table locked for 3 s",
    backends: both,
    inject: (deployment, random) => lock(deployment, random.pick(tables)),
  },
  {
    name: 'deliveries locked for 3 s',
    backends: both,
    inject: (deployment) => lock(deployment, 'deliveries'),
  },
  {
    name: "a family's table renamed for 3 s",
    backends: both,
    inject: (deployment, random) => breakTable(deployment, random, 0),
  },
  {
    name: "a family's trigger fails for 3 s",
    backends: both,
    inject: (deployment, random) => breakTable(deployment, random, 1),
  },
];
