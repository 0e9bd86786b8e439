import { Queue } from 'bullmq';
import { built, type Contender } from './contender.ts';
import { oursEmbedded, oursOnRedis, oursUnreported, prepare } from './ours.ts';

const nothing = () => ({});
const run = (...[name, ...args]: [string, ...string[]]) => [process.execPath, built(name), ...args];

const oneByOne = (name: string, title: string, concurrency: number): Contender => ({
  name,
  title,
  prepare,
  receiver: { command: run('express', 'queue'), env: ({ redisUrl }) => ({ REDIS_URL: redisUrl }) },
  worker: {
    command: run('worker'),
    env: ({ redisUrl, databaseUrl }) => ({
      REDIS_URL: redisUrl,
      DATABASE_URL: databaseUrl,
      CONCURRENCY: String(concurrency),
    }),
  },
  stores: true,
  waiting: async ({ redisUrl }) => {
    const queue = new Queue('receipts', { connection: { url: redisUrl } });
    try {
      const { failed, ...counts } = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed');
      if (failed) throw new Error(`${failed} jobs failed`);
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    } finally {
      await queue.close();
    }
  },
});

/** In the order of a round. The baseline is last: it is also measured at the rates that ours reached. */
export const contenders: readonly Contender[] = [
  oursOnRedis,
  oursUnreported,
  oursEmbedded,
  oneByOne('one-by-one-tuned', 'one by one, tuned', 50),
  oneByOne('one-by-one-default', 'one by one, default', 1),
  {
    name: 'straight',
    title: 'straight to the table',
    prepare,
    receiver: { command: run('express', 'table'), env: ({ databaseUrl }) => ({ DATABASE_URL: databaseUrl }) },
    stores: true,
  },
  {
    name: 'bare-express',
    title: 'bare Express',
    receiver: { command: run('express', 'none'), env: nothing },
    stores: false,
  },
  {
    name: 'bare-http',
    title: 'bare node:http',
    receiver: { command: run('bare-http'), env: nothing },
    stores: false,
  },
];

export const baseline = 'bare-http';
