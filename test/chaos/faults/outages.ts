import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../src/sandbox/random.ts';
import type { Backend, Deployment, Role } from '../deployment.ts';
import type { Fault } from '../faults.ts';
import type { TcpProxy } from '../tcp-proxy.ts';

export const both: Backend[] = ['redis', 'postgresql'];

// Longer than any timeout of the service.
export const longMs = 3_000;

/** Makes a store unavailable; the returned function makes it available again. */
type MakeUnavailable = (deployment: Deployment, random: Random) => () => Promise<void>;

/** PostgreSQL hangs, its host is unreachable, or it has crashed. */
export const makeDatabaseUnavailable: MakeUnavailable = (deployment, random) => {
  const cause = random.pick(['stopped', 'unreachable', 'killed']);
  if (cause === 'stopped') {
    deployment.signalDatabase('STOP');
    return async () => deployment.signalDatabase('CONT');
  }
  deployment.link.cut(); // a killed server is restarted at once, and must stay unreachable
  if (cause === 'killed') deployment.signalDatabase('KILL');
  return deployment.link.restore;
};

const makeRedisUnavailable: MakeUnavailable = ({ redis, redisLink }, random) => {
  const cause = random.pick(['stopped', 'unreachable', 'killed']);
  if (cause === 'stopped') {
    redis!.process.kill('SIGSTOP');
    return async () => void redis!.process.kill('SIGCONT');
  }
  redisLink!.cut();
  if (cause === 'killed') redis!.process.kill('SIGKILL');
  return async () => {
    if (cause === 'killed') await redis!.restart();
    await redisLink!.restore();
  };
};

async function killAndStart(deployment: Deployment, ...roles: Role[]): Promise<void> {
  await Promise.all(roles.map((role) => deployment.processOf(role).end('SIGKILL')));
  await Promise.all(roles.map((role) => deployment.start(role)));
}

/** The only receiver and the only worker start while a store is unavailable. */
async function startDuringOutage(
  makeUnavailable: MakeUnavailable,
  deployment: Deployment,
  random: Random,
): Promise<void> {
  const restore = makeUnavailable(deployment, random);
  try {
    await killAndStart(deployment, 'receiver', 'worker');
    await pause(random.between(0, longMs));
  } finally {
    await restore();
  }
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

/** Processes and servers that end or hang, and links that fail. */
export const outageFaults: Fault[] = [
  { name: 'receiver killed', backends: both, inject: (deployment) => killAndStart(deployment, 'receiver') },
  { name: 'worker killed', backends: both, inject: (deployment) => killAndStart(deployment, 'worker') },
  {
    name: 'PostgreSQL killed',
    backends: both,
    inject: async (deployment) => deployment.signalDatabase('KILL'),
  },
  { name: 'PostgreSQL stopped for 3 s', backends: both, inject: stopDatabase },
  {
    name: 'PostgreSQL unavailable at start',
    backends: ['redis'], // without Redis a process ends, and its supervisor restarts it
    inject: (deployment, random) => startDuringOutage(makeDatabaseUnavailable, deployment, random),
  },
  { name: 'Redis killed', backends: ['redis'], inject: killRedis },
  {
    name: 'Redis stopped for 3 s',
    backends: ['redis'],
    inject: async ({ redis }) => {
      redis!.process.kill('SIGSTOP');
      await pause(longMs);
      redis!.process.kill('SIGCONT');
    },
  },
  {
    name: 'Redis unavailable at start',
    backends: ['redis'],
    inject: (deployment, random) => startDuringOutage(makeRedisUnavailable, deployment, random),
  },
  {
    name: 'Redis wiped',
    backends: ['redis'],
    inject: async ({ redis }) => {
      await redis!.client().flushall();
    },
  },
  {
    name: 'PostgreSQL stopped, Redis killed',
    backends: ['redis'],
    inject: async (deployment) => {
      await Promise.all([stopDatabase(deployment), killRedis(deployment)]);
    },
  },
  {
    name: 'connections reset',
    backends: both,
    inject: async ({ link, redisLink }) => {
      link.reset();
      redisLink?.reset();
    },
  },
  { name: 'flapping link to PostgreSQL', backends: both, inject: ({ link }, random) => flap(link, random) },
  {
    name: 'flapping link to Redis',
    backends: ['redis'],
    inject: ({ redisLink }, random) => flap(redisLink!, random),
  },
  {
    name: 'slow link',
    backends: both,
    inject: async ({ link }) => {
      link.delay(60);
      await pause(longMs);
      link.delay(0);
    },
  },
];
