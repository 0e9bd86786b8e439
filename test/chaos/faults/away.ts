import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../src/sandbox/random.ts';
import type { Fault } from '../faults.ts';
import type { Backend, Role, Stage } from '../stage.ts';
import type { TcpProxy } from '../tcp-proxy.ts';

export const both: Backend[] = ['redis', 'postgresql'];

// Longer than any time-out of the service.
export const longMs = 3_000;

/** Takes a store away; the returned function brings it back. */
type TakeAway = (stage: Stage, random: Random) => () => Promise<void>;

/** Takes PostgreSQL away in one of the ways in which that happens: it hangs, its host is gone, or it crashed. */
export const takeDatabaseAway: TakeAway = (stage, random) => {
  const way = random.pick(['stopped', 'unreachable', 'killed']);
  if (way === 'stopped') {
    stage.signalDatabase('STOP');
    return async () => stage.signalDatabase('CONT');
  }
  stage.link.cut(); // a killed one is soon started again, and must not be seen before its time
  if (way === 'killed') stage.signalDatabase('KILL');
  return stage.link.mend;
};

const takeRedisAway: TakeAway = ({ redis, redisLink }, random) => {
  const way = random.pick(['stopped', 'unreachable', 'killed']);
  if (way === 'stopped') {
    redis!.process.kill('SIGSTOP');
    return async () => void redis!.process.kill('SIGCONT');
  }
  redisLink!.cut();
  if (way === 'killed') redis!.process.kill('SIGKILL');
  return async () => {
    if (way === 'killed') await redis!.restart();
    await redisLink!.mend();
  };
};

async function killAndStart(stage: Stage, ...roles: Role[]): Promise<void> {
  await Promise.all(roles.map((role) => stage.processOf(role).end('SIGKILL')));
  await Promise.all(roles.map((role) => stage.start(role)));
}

/** The only receiver and the only worker start while a store is away, so that nobody else can do their work. */
async function startWithout(takeAway: TakeAway, stage: Stage, random: Random): Promise<void> {
  const bringBack = takeAway(stage, random);
  try {
    await killAndStart(stage, 'receiver', 'worker');
    await pause(random.between(0, longMs));
  } finally {
    await bringBack();
  }
}

async function stopDatabase(stage: Stage): Promise<void> {
  stage.signalDatabase('STOP');
  await pause(longMs);
  stage.signalDatabase('CONT');
}

async function killRedis({ redis }: Stage): Promise<void> {
  redis!.process.kill('SIGKILL');
  await pause(500);
  await redis!.restart();
}

async function flap(link: TcpProxy, random: Random): Promise<void> {
  for (const end = Date.now() + longMs; Date.now() < end; ) {
    link.cut();
    await pause(random.between(50, 300));
    await link.mend();
    await pause(random.between(50, 500));
  }
}

/** Processes and servers that end or hang, and links that break. */
export const awayFaults: Fault[] = [
  { name: 'receiver killed', backends: both, strike: (stage) => killAndStart(stage, 'receiver') },
  { name: 'worker killed', backends: both, strike: (stage) => killAndStart(stage, 'worker') },
  { name: 'PostgreSQL killed', backends: both, strike: async (stage) => stage.signalDatabase('KILL') },
  { name: 'PostgreSQL stopped for 3 s', backends: both, strike: stopDatabase },
  {
    name: 'PostgreSQL away when all start',
    backends: ['redis'], // without Redis a process ends and is started again by its supervisor
    strike: (stage, random) => startWithout(takeDatabaseAway, stage, random),
  },
  { name: 'Redis killed', backends: ['redis'], strike: killRedis },
  {
    name: 'Redis stopped for 3 s',
    backends: ['redis'],
    strike: async ({ redis }) => {
      redis!.process.kill('SIGSTOP');
      await pause(longMs);
      redis!.process.kill('SIGCONT');
    },
  },
  {
    name: 'Redis away when all start',
    backends: ['redis'],
    strike: (stage, random) => startWithout(takeRedisAway, stage, random),
  },
  {
    name: 'Redis wiped',
    backends: ['redis'],
    strike: async ({ redis }) => {
      await redis!.client().flushall();
    },
  },
  {
    name: 'PostgreSQL stopped, Redis killed',
    backends: ['redis'],
    strike: async (stage) => {
      await Promise.all([stopDatabase(stage), killRedis(stage)]);
    },
  },
  {
    name: 'connections reset',
    backends: both,
    strike: async ({ link, redisLink }) => {
      link.reset();
      redisLink?.reset();
    },
  },
  { name: 'flapping link to PostgreSQL', backends: both, strike: ({ link }, random) => flap(link, random) },
  {
    name: 'flapping link to Redis',
    backends: ['redis'],
    strike: ({ redisLink }, random) => flap(redisLink!, random),
  },
  {
    name: 'slow link',
    backends: both,
    strike: async ({ link }) => {
      link.slow(60);
      await pause(longMs);
      link.slow(0);
    },
  },
];
