import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

/** A Redis Cluster of three masters, each with a third of the slots. */
export interface RedisCluster {
  /** For REDIS_URL. */
  url: string;
  nodes: TestRedis[];
  /** The node of a key. */
  nodeOf: (key: string) => Promise<TestRedis>;
  stop: () => Promise<void>;
}

const slots = 16_384;

/** @param options of each node's redis-server */
export async function startRedisCluster(options: string[]): Promise<RedisCluster> {
  const busPorts = await Promise.all([0, 1, 2].map(freePort));
  const nodes = await Promise.all(
    busPorts.map((port) =>
      startRedis(['--cluster-enabled', 'yes', '--cluster-port', String(port), ...options]),
    ),
  );
  const clients = nodes.map((node) => node.client());
  const firstSlots = [...nodes.keys(), nodes.length].map((index) =>
    Math.floor((slots * index) / nodes.length),
  );
  for (const [index, client] of clients.entries()) {
    await client.call('CLUSTER', 'ADDSLOTSRANGE', firstSlots[index]!, firstSlots[index + 1]! - 1);
    if (index > 0) await client.call('CLUSTER', 'MEET', '127.0.0.1', nodes[0]!.port, busPorts[0]!);
  }
  await until(async () => {
    const states = await Promise.all(clients.map((client) => client.cluster('INFO')));
    return states.every((state) => /cluster_state:ok[\s\S]*cluster_known_nodes:3/.test(state));
  });
  return {
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    nodeOf: async (key) => {
      const slot = await clients[0]!.cluster('KEYSLOT', key);
      return nodes[firstSlots.findIndex((first) => slot < first) - 1]!;
    },
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

/** Records the commands that a server receives, in lower case, until `end`. */
export async function watchCommands(server: TestRedis): Promise<{ seen: string[]; end: () => void }> {
  // A plain connection: ioredis cannot parse a command that arrives together with the reply to MONITOR.
  const socket = connect(server.port, '127.0.0.1');
  const seen: string[] = [];
  const lines = createInterface(socket);
  socket.write('MONITOR\r\n');
  await once(lines, 'line'); // +OK
  lines.on('line', (line) => {
    const words = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word);
    seen.push(words.join(' ').toLowerCase());
  });
  return { seen, end: () => socket.destroy() };
}
