import { runMigrations } from 'graphile-worker';
import PgBoss from 'pg-boss';
import { withClient } from '../../src/store/pool.ts';
import { type Contender, run, type Stores } from './contender.ts';
import { preparePeer } from './ours.ts';

interface Peer {
  name: string;
  /** Creates the tables of its queue. */
  install: (databaseUrl: string) => Promise<unknown>;
  /** A relation of its jobs that are not finished, and which of them have failed. */
  unfinished: string;
  failed: string;
}

/** A job queue on PostgreSQL that others use for this; its settings are in express.ts and in its worker. */
const peer = ({ name, install, unfinished, failed }: Peer): Contender => {
  // The variable stops graphile-worker from logging each job.
  const env = ({ databaseUrl }: Stores) => ({ DATABASE_URL: databaseUrl, NO_LOG_SUCCESS: '1' });
  return {
    name,
    title: name,
    prepare: async (stores) => {
      await preparePeer(stores);
      await install(stores.databaseUrl);
    },
    receiver: { command: run('express', name), env },
    worker: { command: run(name), env },
    stores: true,
    waiting: ({ databaseUrl }) =>
      withClient(databaseUrl, async (client) => {
        const { rows } = await client.query<{ left: number; failed: number }>(`
          select count(*)::int "left", count(*) filter (where ${failed})::int failed from ${unfinished}`);
        if (rows[0]!.failed > 0) throw new Error(`${rows[0]!.failed} jobs failed`);
        return rows[0]!.left;
      }),
  };
};

export const peers: readonly Contender[] = [
  peer({
    name: 'pg-boss',
    install: async (databaseUrl) => {
      const boss = await new PgBoss(databaseUrl).start();
      await boss.createQueue('receipts');
      await boss.stop({ graceful: false });
    },
    unfinished: `pgboss.job where name = 'receipts' and state <> 'completed'`,
    failed: `state in ('retry', 'failed')`,
  }),
  peer({
    name: 'graphile-worker',
    install: (databaseUrl) => runMigrations({ connectionString: databaseUrl }),
    unfinished: 'graphile_worker.jobs',
    failed: 'last_error is not null',
  }),
];
