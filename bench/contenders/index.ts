import { Queue } from 'bullmq';
import { type Contender, run } from './contender.ts';
import { formerOf } from './former.ts';
import { oursEmbedded, oursOnRedis, oursUnreported, preparePeer } from './ours.ts';
import { peers } from './peers.ts';

const nothing = () => ({});

const oneByOne = (name: string, title: string, concurrency: number): Contender => ({
  name,
  title,
  prepare: preparePeer,
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

/**
 * In the order of a round. The baseline is last: it is also measured at the rates that ours reached.
 *
 * @param against the folder of another version of this service
 */
export const contendersOf = ({ against }: { against?: string | undefined }): Contender[] => [
  oursOnRedis,
  oursUnreported,
  oursEmbedded,
  ...(against ? formerOf(against) : []),
  oneByOne('one-by-one-tuned', 'one by one, tuned', 50),
  oneByOne('one-by-one-default', 'one by one, default', 1),
  ...peers,
  {
    name: 'straight',
    title: 'straight to the table',
    prepare: preparePeer,
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

/** Measured only when `--only` names them. */
export const notByDefault: readonly string[] = [oursUnreported.name];
export const ours: readonly string[] = [oursOnRedis.name, oursEmbedded.name];
export const baseline = 'bare-http';
