import { createLog } from '../../src/common/log.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { withoutReports } from '../reports/without-reports.ts';
import { scalar } from '../stores/postgres.ts';
import { type Contender, type Stores, startScript } from './contender.ts';

const command = ['sh', startScript];
const signingKey = 'bench-signing-key';

const ours = (name: string, title: string, queue: (stores: Stores) => Record<string, string>): Contender => {
  const program = (role: string) => ({
    command,
    env: (stores: Stores) => ({
      ROLE: role,
      PORT: '0',
      DATABASE_URL: stores.databaseUrl,
      SIGNING_KEYS: signingKey,
      ...queue(stores),
    }),
  });
  return {
    name,
    title,
    signingKey,
    prepare,
    receiver: program('receiver'),
    worker: program('worker'),
    stores: true,
    waiting: ({ databaseUrl }) =>
      scalar(
        databaseUrl,
        'select (select count(*) from pending_deliveries) + (select count(*) from failed_deliveries)',
      ),
  };
};

/** Creates the tables, so that the start is measured on an existing database. */
const prepare = ({ databaseUrl }: Stores): Promise<void> =>
  withDatabase(databaseUrl, ({ db }) => migrate(db));

/** For the others: the same table of receipts, without what keeps and indexes its versions. */
export const preparePeer = (stores: Stores): Promise<void> =>
  withDatabase(stores.databaseUrl, async ({ db, pool }) => {
    await migrate(db);
    await pool.query('drop trigger keep_superseded_receipt on receipts; drop index receipts_received');
  });

async function withDatabase(url: string, run: (database: Database) => Promise<unknown>): Promise<void> {
  const database = openDatabase(url, createLog('warn'), { connections: 2, name: 'bench' });
  await run(database);
  await database.close();
}

export const oursOnRedis = ours('ours-redis', 'ours, Redis + PostgreSQL', ({ redisUrl }) => ({
  REDIS_URL: redisUrl,
}));

/** Shows what the reports cost: the same without their indexes and without superseded versions of receipts. */
export const oursUnreported: Contender = {
  ...oursOnRedis,
  name: 'ours-unreported',
  title: 'ours on Redis, nothing for reports',
  prepare: async (stores) => {
    await prepare(stores);
    await withDatabase(stores.databaseUrl, withoutReports);
  },
};

export const oursEmbedded = ours('ours-embedded', 'ours, embedded default', () => ({}));
