import { once } from 'node:events';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** A Redis with a replica. */
export interface ReplicatedRedis {
  readonly primary: TestRedis;
  /** From the replica to the primary. */
  link: TcpProxy;
  /** Kills the primary and promotes the replica, which is the primary from then on. */
  failOver: () => Promise<void>;
  /** Starts the former primary as the replica, and waits until it has the data. */
  rejoin: () => Promise<void>;
  stop: () => Promise<void>;
}

export async function startReplicatedRedis(options: string[]): Promise<ReplicatedRedis> {
  let [primary, replica] = [await startRedis(options), await startRedis(options)];
  const link = await startTcpProxy(primary.port);
  const follow = async () => {
    const client = replica.client();
    await client.replicaof('127.0.0.1', link.port);
    await until(async () => (await client.info('replication')).includes('master_link_status:up'));
    client.disconnect();
  };
  await follow();
  return {
    get primary() {
      return primary;
    },
    link,
    failOver: async () => {
      const ended = once(primary.process, 'exit');
      primary.process.kill('SIGKILL');
      await ended;
      const client = replica.client();
      await client.replicaof('NO', 'ONE');
      client.disconnect();
      [primary, replica] = [replica, primary];
      link.redirect(primary.port);
    },
    rejoin: async () => {
      await replica.restart();
      await link.restore();
      await follow();
    },
    stop: async () => {
      await link.stop();
      await replica.stop();
      await primary.stop();
    },
  };
}
