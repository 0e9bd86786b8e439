import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Queue } from 'bullmq';
import { receiptColumns } from './callbacks.ts';
import { signingKey } from './load.ts';
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
  /** Undefined: `floor` is measured. */
  receiver?: Program;
  /** Makes rows of what the receiver acknowledged. */
  worker?: Program;
  /** How many acknowledged callbacks are not applied. */
  waiting?: (stores: Stores, bench: BenchStores) => Promise<number>;
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
const v8Options = ['--heap-growing-percent=120', '--max-semi-space-size=8', '--v8-pool-size=1'];

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
    SIGNING_KEYS: signingKey,
  });
  const role = (role: string): Program => ({
    command: start,
    env: (stores) => ({ ...env(stores), ROLE: role }),
    cwd,
  });
  return {
    name,
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

const oneByOne = (name: string, concurrency: number): Contender => ({
  name,
  prepare: ({ databaseUrl }, { query }) => {
    const columns = Object.entries(receiptColumns).map(([column, type]) => `${column} ${type}`);
    const text = `create table receipts (${columns.join(', ')}, primary key (business_id, receipt_id))`;
    return query(text, databaseUrl);
  },
  receiver: { command: program('express.ts'), env: ({ redisUrl }) => ({ REDIS_URL: redisUrl }) },
  worker: {
    command: program('worker.ts'),
    env: ({ redisUrl, databaseUrl }) => ({
      REDIS_URL: redisUrl,
      DATABASE_URL: databaseUrl,
      CONCURRENCY: String(concurrency),
    }),
  },
  waiting: async ({ redisUrl }) => {
    const queue = new Queue('receipts', { connection: { url: redisUrl } });
    const { failed, ...counts } = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed');
    await queue.close();
    if (failed) throw new Error(`${failed} jobs failed.`);
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  },
  drainSeconds: 2,
});

/** What the receiver is compared with: a job and an upsert for each callback, the least that storing costs, and HTTP. */
export const others: Contender[] = [
  oneByOne('one by one, 50 jobs at a time', 50),
  oneByOne('one by one, BullMQ’s default', 1),
  { name: 'durable floor, no HTTP', prepare: async () => {} },
  {
    name: 'bare Express, stores nothing',
    prepare: async () => {},
    receiver: { command: program('express.ts'), env: () => ({}) },
  },
];

export const floor = (seconds: number, group: number, series: number): Program => ({
  command: [...program('floor.ts'), String(seconds), String(group), String(series)],
  env: ({ databaseUrl }) => ({ DATABASE_URL: databaseUrl }),
});
