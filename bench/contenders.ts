import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Queue } from 'bullmq';
import { receiptColumns } from './callbacks.ts';
import { eventsPath } from './load.ts';
import type { BenchStores, Stores } from './stores.ts';

export interface Program {
  command: string[];
  env: (stores: Stores) => Record<string, string>;
  cwd?: string;
}

export interface Contender {
  name: string;
  /** Creates the tables that its programs expect. */
  prepare: (stores: Stores, bench: BenchStores) => Promise<unknown>;
  receiver: Program;
  /** Makes rows of what the receiver acknowledged. */
  worker?: Program;
  /** How many acknowledged callbacks are not applied. @param isLast what is left is given up */
  waiting?: (stores: Stores, bench: BenchStores, isLast: boolean) => Promise<number>;
  /** Whether it takes half of the receiver's load, and keeps it. */
  paced?: boolean;
  /** How many seconds to wait until all is applied. */
  drainSeconds?: number;
}

const program = (name: string) => [
  process.execPath,
  '--import',
  'tsx',
  join(import.meta.dirname, 'programs', name),
];

// As in bin/start.sh, which takes no options of the receiver.
const v8Options = [
  '--heap-growing-percent=120',
  '--max-semi-space-size=8',
  '--v8-pool-size=1',
  '--no-flush-bytecode',
];

/** The receiver of a folder in which it is built, this one or another version of it. */
export function receiverOf(name: string, folder: string): Contender {
  const cwd = resolve(folder);
  if (!existsSync(join(cwd, 'dist'))) throw new Error(`${folder} is not built: npm ci, npm run build`);
  const receiver = [process.execPath, join(cwd, 'bin/receiver.js')];
  const start = [process.execPath, ...v8Options, receiver[1]!, 'start'];
  const env = ({ databaseUrl, redisUrl }: Stores) => ({
    NODE_ENV: 'production',
    PORT: '0',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    EVENTS_PATH: eventsPath,
  });
  const role = (role: string): Program => ({
    command: start,
    env: (stores) => ({ ...env(stores), ROLE: role }),
    cwd,
  });
  return {
    name,
    paced: true,
    prepare: async (stores) => {
      const migration = { cwd, env: { ...process.env, ...env(stores) }, encoding: 'utf8' } as const;
      const { status, stdout, stderr } = spawnSync(receiver[0]!, [receiver[1]!, 'migrate'], migration);
      if (status !== 0) throw new Error(`migrate of ${folder}: ${stdout}${stderr}`);
    },
    receiver: role('receiver'),
    worker: role('worker'),
    waiting: async ({ databaseUrl }, { query }) => {
      const pending = await query(
        `select coalesce(to_regclass('receiver.pending_deliveries'), to_regclass('pending_deliveries'))::text`,
        databaseUrl,
      );
      if (await query(`select exists (select from deliveries where status = 'failed')`, databaseUrl))
        throw new Error('A callback could not be applied.');
      return Number(await query(`select count(*) from ${pending}`, databaseUrl));
    },
  };
}

const createReceipts = () => {
  const columns = Object.entries(receiptColumns).map(([column, type]) => `${column} ${type}`);
  return `create table receipts (${columns.join(', ')}, primary key (business_id, receipt_id));`;
};

const oneByOne = (name: string, concurrency: number): Contender => ({
  name,
  prepare: ({ databaseUrl }, { query }) => query(createReceipts(), databaseUrl),
  receiver: { command: program('express.ts'), env: ({ redisUrl }) => ({ REDIS_URL: redisUrl }) },
  worker: {
    command: program('worker.ts'),
    env: ({ redisUrl, databaseUrl }) => ({
      REDIS_URL: redisUrl,
      DATABASE_URL: databaseUrl,
      CONCURRENCY: String(concurrency),
    }),
  },
  waiting: async ({ redisUrl }, _bench, isLast) => {
    const queue = new Queue('receipts', { connection: { url: redisUrl } });
    const { failed, ...counts } = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed');
    // The next burst is that of another contender.
    if (isLast) await queue.drain();
    await queue.close();
    if (failed) throw new Error(`${failed} jobs failed.`);
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  },
  drainSeconds: 2,
});

const floor = (name: string, merges: boolean): Contender => {
  const env = ({ databaseUrl }: Stores) => ({ DATABASE_URL: databaseUrl, ...(merges && { MERGES: 'yes' }) });
  const tables = `create table callbacks (id uuid primary key, business text, record bigint, version text collate "C", body jsonb);
    create index on callbacks (business, record); create table waiting (n bigint generated always as identity primary key, ids uuid[]);
    create aggregate merge(jsonb) (sfunc = jsonb_concat, stype = jsonb, initcond = '{}'); ${createReceipts()}`;
  return {
    name,
    paced: true,
    prepare: ({ databaseUrl }, { query }) =>
      query(
        merges
          ? tables
          : 'create table callbacks (id uuid primary key, business text, record bigint, version text, body jsonb)',
        databaseUrl,
      ),
    receiver: { command: program('floor.ts'), env },
    ...(merges && {
      worker: { command: program('merge-floor.ts'), env },
      waiting: async ({ databaseUrl }, { query }) =>
        Number(await query('select coalesce(sum(cardinality(ids)), 0) from waiting', databaseUrl)),
    }),
  };
};

/** What the receiver is compared with: the least that storing and merging cost, a job and an upsert for each callback, and HTTP. */
export const others: Contender[] = [
  floor('durable floor', false),
  floor('merge floor', true),
  oneByOne('one by one, 50 jobs at a time', 50),
  oneByOne('one by one, BullMQ’s default', 1),
  {
    name: 'bare Express, stores nothing',
    prepare: async () => {},
    receiver: { command: program('express.ts'), env: () => ({}) },
  },
];
