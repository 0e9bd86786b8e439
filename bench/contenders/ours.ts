import { createRequire } from 'node:module';
import { createLog } from '../../src/log.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { withoutReports } from '../reports/without-reports.ts';
import { scalar } from '../stores/postgres.ts';
import type { Contender, Stores } from './contender.ts';

const file = 'bin/receiver.js';
const { scripts } = createRequire(import.meta.url)('../../package.json') as { scripts: { start: string } };
const nodeOptions = scripts.start.split(' ').filter((word) => word.startsWith('--'));
const signingKey = 'bench-signing-key';

const ours = (name: string, title: string, queue: (stores: Stores) => Record<string, string>): Contender => {
  const program = (role: string) => ({
    file,
    args: ['start'],
    nodeOptions,
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
      scalar(databaseUrl, `select count(*) from deliveries where status <> 'applied'`),
  };
};

/** So that the first start finds an existing database. */
export const prepare = ({ databaseUrl }: Stores): Promise<void> =>
  withDatabase(databaseUrl, ({ db }) => migrate(db));

async function withDatabase(url: string, run: (database: Database) => Promise<unknown>): Promise<void> {
  const database = openDatabase(url, createLog('warn'), { connections: 2, name: 'bench' });
  await run(database);
  await database.close();
}

export const oursOnRedis = ours('ours-redis', 'ours, Redis + PostgreSQL', ({ redisUrl }) => ({
  REDIS_URL: redisUrl,
}));

/** What the reports cost: the same without their indexes, and without the versions of receipts. */
export const oursUnreported: Contender = {
  ...oursOnRedis,
  name: 'ours-unreported',
  title: 'ours on Redis, nothing for reports',
  worker: {
    ...oursOnRedis.worker!,
    nodeOptions: [...nodeOptions, '--import', './bench/programs/without-versions.mjs'],
  },
  prepare: async (stores) => {
    await prepare(stores);
    await withDatabase(stores.databaseUrl, withoutReports);
  },
};

export const oursEmbedded = ours('ours-embedded', 'ours, embedded default', () => ({}));
