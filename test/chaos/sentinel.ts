import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

/** A Redis with a replica, and a Sentinel that promotes the replica when the primary fails. */
export interface SentinelGroup {
  /** For REDIS_URL. */
  url: string;
  primary: TestRedis;
  replica: TestRedis;
  stop: () => Promise<void>;
}

export async function startSentinelGroup(): Promise<SentinelGroup> {
  const primary = await startRedis();
  const replica = await startRedis(['--replicaof', '127.0.0.1', String(primary.port)]);
  const replicaClient = replica.client();
  await until(async () => (await replicaClient.info('replication')).includes('master_link_status:up'));
  const folder = mkdtempSync(join(tmpdir(), 'receiver-sentinel-'));
  const port = await freePort();
  const sentinel = spawnSentinel(folder, port, primary.port);
  const probe = new Redis(port, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  probe.on('error', () => {}); // still starting
  await until(async () => ((await probe.call('SENTINEL', 'replicas', 'mymaster')) as unknown[]).length === 1);
  return {
    url: `redis+sentinel://127.0.0.1:${port}/mymaster`,
    primary,
    replica,
    stop: async () => {
      probe.disconnect();
      sentinel.kill('SIGKILL');
      await once(sentinel, 'exit');
      await primary.stop();
      await replica.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function spawnSentinel(folder: string, port: number, primaryPort: number): ChildProcess {
  const settings = join(folder, 'sentinel.conf'); // the sentinel writes its state there
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor mymaster 127.0.0.1 ${primaryPort} 1`,
    'sentinel down-after-milliseconds mymaster 1000',
    'sentinel failover-timeout mymaster 5000',
  ];
  writeFileSync(settings, `${lines.join('\n')}\n`);
  return spawn(process.env.TEST_REDIS_SERVER!, [settings, '--sentinel'], { stdio: 'ignore' });
}
