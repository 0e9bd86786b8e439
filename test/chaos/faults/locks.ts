import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Random } from '../../../src/sandbox/random.ts';
import { until } from '../../support/until.ts';
import { minutes } from '../drawn.ts';
import type { Fault } from '../faults.ts';
import type { Run } from '../run-fault.ts';
import { withSession } from '../session.ts';
import { both, longMs } from './outages.ts';

/** In a long run some are held for longer than any timeout. */
const heldMs = (random: Random) => (minutes > 0 && random.chance(0.3) ? 75_000 : longMs);

/** The rows that the load is about to write, by table. */
const ofLoad: Record<string, string> = {
  receipts: 'order by delivery_id desc limit 40',
  consent_forms: 'order by delivery_id desc limit 20',
  pending_deliveries: 'order by received_at limit 20',
  resends: 'order by last_received_at desc limit 40',
};
/** What the processes write beside deliveries. */
const ofProcesses = ['database_identity', 'workers', 'uptime', 'leases', 'lease_tokens'];

async function lockRows(client: pg.ClientBase, tables: readonly string[], random: Random): Promise<void> {
  const { rows } = await client.query(
    'select name from unnest($1::text[]) as name where to_regclass(name) is not null',
    [tables],
  );
  const table = random.pick(rows).name as string;
  await client.query('begin');
  // Those that a worker holds at the moment are not there any more when it ends.
  const lock = `select from ${table} ${ofLoad[table] ?? ''} for update skip locked`;
  await until(async () => (await client.query(lock)).rowCount, 5_000).catch(() => {}); // there may be none
}

/** While the rows are locked, all others must be written. */
async function expectOthersWritten(random: Random, run: Run): Promise<void> {
  await run.expectOthersApplied();
  await pause(heldMs(random));
  await run.expectOthersApplied();
}

const lockedByIdleSession =
  (tables: readonly string[]): Fault['inject'] =>
  (deployment, random, run) =>
    withSession(deployment, async (client) => {
      await lockRows(client, tables, random);
      await expectOthersWritten(random, run); // the end of the connection ends the transaction
    });

const heldByPreparedTransaction =
  (tables: readonly string[]): Fault['inject'] =>
  async (deployment, random, run) => {
    await withSession(deployment, async (client) => {
      await lockRows(client, tables, random);
      await client.query(`prepare transaction 'forgotten'`);
    });
    await expectOthersWritten(random, run).finally(() => deployment.rows(`rollback prepared 'forgotten'`));
  };

const ofFamilies = ['receipts', 'consent_forms'];

/** Somebody holds rows: only what needs these waits. */
export const lockFaults: Fault[] = Object.entries({
  "a family's rows locked by an idle session": lockedByIdleSession(ofFamilies),
  'rows of the states locked by an idle session': lockedByIdleSession(['pending_deliveries', 'resends']),
  'rows of the processes locked by an idle session': lockedByIdleSession(ofProcesses),
  "a family's rows held by a prepared transaction": heldByPreparedTransaction(ofFamilies),
}).map(([name, inject]) => ({ name, backends: both, inject }));
