import { oursEmbedded } from '../contenders/ours.ts';
import { fire } from '../load/fire.ts';
import { receiptRequests, take } from '../load/requests.ts';
import { type Program, startProgram } from '../process/program.ts';
import type { BenchPostgres } from '../stores/postgres.ts';
import { scalar } from '../stores/postgres.ts';
import { untilEmpty } from '../until-empty.ts';

export const token = 'a-token-of-the-benchmark';
const path = '/registered_url_for_receipt_events';

/** The receiver and the worker in one process, the queue in PostgreSQL, on a database of its own. */
export async function startReceiver(postgres: BenchPostgres, name: string, env: Record<string, string>) {
  const stores = { databaseUrl: await postgres.freshDatabase(name), redisUrl: '' };
  await oursEmbedded.prepare!(stores);
  const { command, env: common } = oursEmbedded.receiver;
  const program: Program = await startProgram(command, { ...common(stores), ROLE: 'all', ...env });
  const source = receiptRequests({ seed: 1, host: '127.0.0.1', path, signingKey: oursEmbedded.signingKey });
  return {
    ...stores,
    pid: program.pid,
    url: program.url,
    stop: program.stop,
    /** Sends new callbacks, and waits until they are applied. @param rate a second; undefined: as fast as possible */
    send: async (callbacks: number, rate?: number) => {
      const seconds = rate ? callbacks / rate : 60;
      const order = { url: program.url, path, connections: rate ? 16 : 64, seconds, warmup: 0, rate };
      await fire({ ...order, seed: 0, signingKey: undefined }, take(source, callbacks));
      const left = () => scalar(stores.databaseUrl, 'select count(*) from pending_deliveries');
      if ((await untilEmpty(left, 60)) > 0) throw new Error('Deliveries are left.');
    },
  };
}

export type BenchReceiver = Awaited<ReturnType<typeof startReceiver>>;

/** The value below which a share of the figures lies. */
export const quantile = (figures: readonly number[], share: number) =>
  figures.toSorted((a, b) => a - b)[Math.min(figures.length - 1, Math.floor(figures.length * share))]!;

export const print = (line: string) => void process.stdout.write(`${line}\n`);
