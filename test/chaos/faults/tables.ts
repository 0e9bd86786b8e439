import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../src/sandbox/random.ts';
import { withClient } from '../../../src/store/pool.ts';
import type { Fault } from '../faults.ts';
import type { Stage } from '../stage.ts';
import { both, longMs } from './away.ts';

const tables = ['receipts', 'consent_forms', 'review_requests'];

async function lock({ databaseUrl }: Stage, table: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    await client.query('begin');
    await client.query(`lock table ${table} in access exclusive mode`);
    await pause(longMs);
    await client.query('rollback');
  });
}

/** Each of them leaves a family's table useless until the returned statement is run. */
const breakages: ((table: string) => { harm: string; mend: string })[] = [
  (table) => ({
    harm: `alter table ${table} rename to ${table}_elsewhere`,
    mend: `alter table ${table}_elsewhere rename to ${table}`,
  }),
  (table) => ({
    harm: `
      create function refuse() returns trigger language plpgsql as 'begin raise exception ''not now''; end';
      create trigger refuse before insert or update on ${table} for each row execute function refuse()`,
    mend: 'drop function refuse cascade',
  }),
];

async function breakTable({ rows }: Stage, random: Random, at: number): Promise<void> {
  const { harm, mend } = breakages[at]!(random.pick(tables));
  await rows(harm);
  try {
    await pause(longMs);
  } finally {
    await rows(mend);
  }
}

/** PostgreSQL works, and one of its tables does not. */
export const tableFaults: Fault[] = [
  {
    name: "a family's table locked for 3 s",
    backends: both,
    strike: (stage, random) => lock(stage, random.pick(tables)),
  },
  { name: 'deliveries locked for 3 s', backends: both, strike: (stage) => lock(stage, 'deliveries') },
  {
    name: "a family's table renamed for 3 s",
    backends: both,
    strike: (stage, random) => breakTable(stage, random, 0),
  },
  {
    name: "a family's trigger fails for 3 s",
    backends: both,
    strike: (stage, random) => breakTable(stage, random, 1),
  },
];
