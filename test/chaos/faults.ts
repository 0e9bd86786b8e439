import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { Random } from '../../src/sandbox/random.ts';
import type { Backend, Deployment, Role } from './deployment.ts';
import type { TcpProxy } from './tcp-proxy.ts';

export interface Fault {
  name: string;
  backends: readonly Backend[];
  /** Breaks something, and repairs it. */
  inject: (deployment: Deployment, random: Random) => Promise<void>;
}

const both: readonly Backend[] = ['redis', 'postgresql'];
const redisOnly: readonly Backend[] = ['redis'];

// Longer than any timeout of the service.
const longMs = 3_000;

async function killAndStart(deployment: Deployment, ...roles: Role[]): Promise<void> {
  await Promise.all(roles.map((role) => deployment.processOf(role).end('SIGKILL')));
  await Promise.all(roles.map((role) => deployment.start(role)));
}

async function stopDatabase(deployment: Deployment): Promise<void> {
  deployment.signalDatabase('STOP');
  await pause(longMs);
  deployment.signalDatabase('CONT');
}

async function killRedis({ redis }: Deployment): Promise<void> {
  redis!.process.kill('SIGKILL');
  await pause(500);
  await redis!.restart();
}

async function flap(link: TcpProxy, random: Random): Promise<void> {
  for (const end = Date.now() + longMs; Date.now() < end; ) {
    link.cut();
    await pause(random.between(50, 300));
    await link.restore();
    await pause(random.between(50, 500));
  }
}

/** A statement in a transaction that stays open for a while. */
async function holdTransaction({ databaseUrl }: Deployment, statement: string): Promise<void> {
  const client = new pg.Client(databaseUrl);
  client.on('error', () => {});
  await client.connect();
  await client.query(`begin; ${statement}`);
  await pause(longMs);
  await client.end();
}

/** Redis answers each write with an error. */
async function refuseWrites({ redis }: Deployment): Promise<void> {
  const client = redis!.client();
  await client.config('SET', 'min-replicas-to-write', '1');
  await pause(longMs);
  await client.config('SET', 'min-replicas-to-write', '0');
  client.disconnect();
}

/** Processes and servers that end or hang, links that fail, stores that refuse, and clocks that jump. */
export const faults: readonly Fault[] = [
  { name: 'receiver killed', backends: both, inject: (one) => killAndStart(one, 'receiver') },
  { name: 'worker killed', backends: both, inject: (one) => killAndStart(one, 'worker') },
  { name: 'PostgreSQL killed', backends: both, inject: (one) => one.killDatabase() },
  { name: 'PostgreSQL stopped for 3 s', backends: both, inject: stopDatabase },
  {
    name: 'PostgreSQL unreachable at start',
    backends: redisOnly, // without Redis a process ends, and its supervisor restarts it
    inject: async (deployment) => {
      deployment.link.cut();
      await killAndStart(deployment, 'receiver', 'worker');
      await pause(longMs);
      await deployment.link.restore();
    },
  },
  { name: 'Redis killed', backends: redisOnly, inject: killRedis },
  {
    name: 'Redis stopped for 3 s',
    backends: redisOnly,
    inject: async ({ redis }) => {
      redis!.process.kill('SIGSTOP');
      await pause(longMs);
      redis!.process.kill('SIGCONT');
    },
  },
  {
    name: 'Redis wiped',
    backends: redisOnly,
    inject: async ({ redis }) => void (await redis!.client().flushall()),
  },
  { name: 'Redis refuses writes', backends: redisOnly, inject: refuseWrites },
  {
    name: 'PostgreSQL stopped, Redis killed',
    backends: redisOnly,
    inject: async (deployment) => void (await Promise.all([stopDatabase(deployment), killRedis(deployment)])),
  },
  { name: 'flapping link to PostgreSQL', backends: both, inject: ({ link }, random) => flap(link, random) },
  {
    name: 'flapping link to Redis',
    backends: redisOnly,
    inject: ({ redisLink }, random) => flap(redisLink!, random),
  },
  {
    name: 'a table locked',
    backends: both,
    inject: (deployment) => holdTransaction(deployment, 'lock table receipts in access exclusive mode'),
  },
  {
    name: 'rows locked',
    backends: both,
    inject: (one) =>
      holdTransaction(one, 'select from receipts order by delivery_id desc limit 40 for update skip locked'),
  },
  {
    name: 'clock an hour ahead for 3 s',
    backends: both,
    inject: async (deployment) => {
      deployment.setClock(3_600);
      await pause(longMs);
      deployment.setClock(0);
    },
  },
];
