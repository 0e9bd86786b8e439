import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { withClient } from '../../../src/store/pool.ts';
import { acceptsConnections } from '../../support/accepts-connections.ts';
import { until } from '../../support/until.ts';
import type { Deployment } from '../deployment.ts';
import { minutes } from '../drawn.ts';
import type { Fault } from '../faults.ts';
import { both, longMs } from './outages.ts';

/** Errors that say nothing about a body. */
const errorsOfStore = [
  'XX002',
  '42501',
  '53200',
  '53400',
  '58030',
  '0A000',
  '38000',
  'HV000',
  'P0001',
  'ZZ999',
];
/** Errors that may, and do not where a known-good delivery gets them too. */
const errorsOfData = ['22000', '23514', '54000'];

/** A trigger that raises an error, for all new rows or those of a condition. */
export const raising = (table: string, sqlstate: string, condition = 'true') => ({
  damage: `
    create function refuse_row() returns trigger language plpgsql as
      'begin raise exception ''not this one'' using errcode = ''${sqlstate}''; end';
    create trigger refuse_row before insert on ${table} for each row when (${condition})
      execute function refuse_row()`,
  repair: 'drop function refuse_row cascade',
});

/** A trigger that silently drops rows. */
export const dropping = (on: string) => ({
  damage: `
    create function drop_row() returns trigger language plpgsql as 'begin return null; end';
    create trigger drop_row before ${on} for each row execute function drop_row()`,
  repair: 'drop function drop_row cascade',
});

/** Constraints and columns that no callback fits. */
export const constraints = {
  'a CHECK that nothing fits': {
    damage: 'alter table inbox add constraint nothing_fits check (false) not valid',
    repair: 'alter table inbox drop constraint nothing_fits',
  },
  'a required column that nothing fills': {
    damage: `alter table inbox add column approved_by text not null default '';
             alter table inbox alter column approved_by drop default`,
    repair: 'alter table inbox drop column approved_by',
  },
  'a renamed column': {
    damage: 'alter table inbox rename column client_id to client',
    repair: 'alter table inbox rename column client to client_id',
  },
  'read-only transactions by default': {
    damage: 'alter system set default_transaction_read_only = on',
    repair: 'alter system reset default_transaction_read_only',
  },
};

async function duringDamage(
  { rows }: Pick<Deployment, 'rows'>,
  { damage, repair }: { damage: string; repair: string },
): Promise<void> {
  await rows(damage);
  try {
    await rows('select pg_reload_conf()');
    await pause(longMs);
  } finally {
    await rows(repair);
    await rows('select pg_reload_conf()');
  }
}

/** Overwrites the first page of the primary key of `inbox` while the server is down, as a bad disk would. */
export async function damagePrimaryKey({
  rows,
  folder,
  databaseUrl,
  signalDatabase,
}: Pick<Deployment, 'rows' | 'folder' | 'databaseUrl' | 'signalDatabase'>): Promise<void> {
  await rows('checkpoint'); // otherwise the recovery would write the page again
  const [row] = await rows(`select pg_relation_filepath('inbox_pkey') as path`);
  const index = await open(join(folder, 'database', row!.path as string), 'r+');
  try {
    signalDatabase('KILL');
    await index.write(Buffer.alloc(8192, 'x'), 0, 8192, 0);
  } finally {
    await index.close();
  }
  await until(() => acceptsConnections(databaseUrl));
}

async function repeat(run: () => Promise<unknown>, pauseMs: number): Promise<void> {
  for (const end = Date.now() + longMs; Date.now() < end; ) {
    await run();
    await pause(pauseMs);
  }
}

/** Takes every connection that the server has, also those of superusers. */
async function takeConnections({ databaseUrl, link }: Deployment): Promise<void> {
  const clients: pg.Client[] = [];
  const take = async () => {
    for (;;) {
      const client = new pg.Client(databaseUrl);
      client.on('error', () => {});
      try {
        await client.connect();
        clients.push(client);
      } catch {
        return; // there are no more
      }
    }
  };
  try {
    await take();
    link.reset();
    await repeat(take, 20);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

/** Holds what a statement has locked, or seen. */
const hold =
  (statement: string, milliseconds: number): Fault['inject'] =>
  ({ databaseUrl }) =>
    withClient(databaseUrl, async (client) => {
      await client.query('begin isolation level repeatable read');
      await client.query(statement);
      await pause(milliseconds);
      await client.query('rollback');
    });

// Workers lock rows in the other order.
const lockBackwards = `
  do $$ declare one record; begin
    for one in select business_id, receipt_id from receipts order by 1 desc, 2 desc limit 300 loop
      perform from receipts where business_id = one.business_id and receipt_id = one.receipt_id for update;
      perform pg_sleep(0.002);
    end loop;
  end $$`;

const cancelAll = `
  select pg_cancel_backend(pid) from pg_stat_activity
  where pid <> pg_backend_pid() and backend_type = 'client backend' and state = 'active'`;

const inject: Record<string, Fault['inject']> = {
  'the primary key of inbox damaged': async (deployment) => {
    await damagePrimaryKey(deployment);
    try {
      await pause(longMs);
    } finally {
      await deployment.rows('reindex index inbox_pkey');
    }
  },
  'every new row refused by a trigger': (deployment, random) => {
    const table = random.pick(['inbox', 'inbox', 'pending_deliveries', 'quarantine']);
    return duringDamage(deployment, raising(table, random.pick([...errorsOfStore, ...errorsOfData])));
  },
  "a family's table refuses its rows by a trigger": (deployment, random) => {
    const table = random.pick(['receipts', 'consent_forms', 'review_requests']);
    return duringDamage(deployment, raising(table, random.pick(errorsOfStore)));
  },
  'rows dropped by a trigger': (deployment, random) => {
    const on = ['insert on inbox', 'insert on pending_deliveries', 'insert or update on receipts'];
    return duringDamage(deployment, dropping(random.pick([...on, 'insert on applied_deliveries'])));
  },
  'some rows refused by a trigger': (deployment, random) =>
    duringDamage(deployment, raising('inbox', random.pick(errorsOfStore), `new.id::text ~ '[0-3]7$'`)),
  'every connection taken': takeConnections,
  'statements cancelled again and again': ({ rows }) => repeat(() => rows(cancelAll), 20),
  'rows locked in the reverse order': ({ rows }) => repeat(() => rows(lockBackwards).catch(() => {}), 10),
  'an analyst idle in a transaction': hold('select count(*) from deliveries', minutes > 0 ? 60_000 : longMs),
  'vacuum and its locks': async (deployment, random, run) => {
    const tables = 'inbox, pending_deliveries, receipts';
    await hold(`lock table ${tables} in share update exclusive mode`, longMs)(deployment, random, run);
    await deployment.rows('vacuum full pending_deliveries');
    await deployment.rows(`vacuum (freeze, analyze) ${tables}`);
  },
};

for (const [name, change] of Object.entries(constraints)) {
  inject[name] = (deployment) => duringDamage(deployment, change);
}

/** A PostgreSQL that responds, and refuses: what it says is not the sender's fault. */
export const storeErrorFaults: Fault[] = Object.entries(inject).map(([name, inject]) => ({
  name,
  backends: both,
  inject,
}));
