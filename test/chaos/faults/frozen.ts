import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../src/sandbox/random.ts';
import { until } from '../../support/until.ts';
import type { Deployment, Role } from '../deployment.ts';
import { minutes } from '../drawn.ts';
import type { Fault } from '../faults.ts';
import type { Run } from '../run-fault.ts';
import { both, longMs, makeDatabaseUnavailable } from './outages.ts';

const each = 2;
/** Until another process has taken over what a frozen one holds, and has applied what is acknowledged meanwhile. */
const takenOverMs = 60_000;
const searchMs = minutes > 0 ? 20_000 : 8_000;

interface Victim {
  role: Role;
  index: number;
}

const signal = (deployment: Deployment, { role, index }: Victim, name: 'SIGSTOP' | 'SIGCONT') =>
  void deployment.processOf(role, index).child.kill(name);

/**
 * Sessions of receivers and workers that hold something between two statements, each with its transaction. Those of jobs that
 * are applied are the most frequent, so the others come first.
 */
const holding = `
  select a.pid || ' ' || a.xact_start as held, a.application_name as application
  from pg_stat_activity a
  where a.application_name like 'receiver %' and a.state = 'idle in transaction'
  order by a.application_name = 'receiver apply', a.xact_start`;

/** Whether a session still holds what it held. */
async function stillHolds({ rows }: Deployment, held: string): Promise<boolean> {
  const sessions = await rows(holding);
  return sessions.some((session) => session.held === held);
}

/** Freezes the process that holds something in PostgreSQL; where none does for some time, any. */
async function freezeHolder(deployment: Deployment, random: Random): Promise<Victim> {
  for (const end = Date.now() + searchMs; Date.now() < end; ) {
    const [session] = await deployment.rows(holding).catch(() => []);
    if (!session) {
      await pause(1);
      continue;
    }
    const role: Role = /worker|apply/.test(session.application as string) ? 'worker' : 'receiver';
    const victim = { role, index: random.between(0, each - 1) };
    signal(deployment, victim, 'SIGSTOP');
    await pause(200); // what another process holds has ended by then
    if (await stillHolds(deployment, session.held as string).catch(() => false)) return victim;
    signal(deployment, victim, 'SIGCONT');
  }
  return freezeAny(deployment, random);
}

async function freezeAny(deployment: Deployment, random: Random): Promise<Victim> {
  const victim = { role: random.pick<Role>(['receiver', 'worker']), index: random.between(0, each - 1) };
  await pause(random.between(0, 1_000));
  signal(deployment, victim, 'SIGSTOP');
  return victim;
}

/** Freezes a process that waits for Redis, which is slow, with whatever it holds meanwhile. */
async function freezeInCall(deployment: Deployment, random: Random): Promise<Victim> {
  const client = deployment.redis!.client();
  try {
    // The sweep enqueues what has no job.
    const keys = await client.keys('{receiver}:deliveries-*');
    if (keys.length > 0) await client.del(keys);
    await pause(6_000); // a sweep takes what is older than 5 s
    await client.call('CLIENT', 'PAUSE', '5000', 'ALL');
    return await freezeHolder(deployment, random);
  } finally {
    client.disconnect();
    const other = deployment.redis!.client();
    await other.call('CLIENT', 'UNPAUSE');
    other.disconnect();
  }
}

/** Freezes a worker that drains the fallback store. */
async function freezeInDrain(deployment: Deployment, random: Random): Promise<Victim> {
  const restore = makeDatabaseUnavailable(deployment, random);
  await pause(random.between(1_500, longMs)).finally(restore);
  await until(() => deployment.rows('select 1').then(Boolean, () => false));
  return freezeHolder(deployment, random);
}

type Freeze = (deployment: Deployment, random: Random) => Promise<Victim>;

/** How long it is frozen. */
const lengths: Record<string, (random: Random, run: Run) => Promise<unknown>> = {
  'for seconds': (random) => pause(random.between(2_000, 6_000)),
  // As if it never woke up; it does so for the next fault, and that it does no harm then is a promise, too.
  'for good': async (_random, run) => {
    await Promise.all([run.expectOthersApplied(takenOverMs), pause(takenOverMs)]);
    await run.expectOthersApplied();
  },
};

async function duringFreeze(
  freeze: Freeze,
  wait: (typeof lengths)[string],
  deployment: Deployment,
  random: Random,
  run: Run,
): Promise<void> {
  const victim = await freeze(deployment, random);
  await wait(random, run).finally(() => signal(deployment, victim, 'SIGCONT'));
}

const points: Record<string, { freeze: Freeze; backends?: Fault['backends'] }> = {
  'at any time': { freeze: freezeAny },
  'while it holds something in PostgreSQL': { freeze: freezeHolder },
  'in a call to Redis': { freeze: freezeInCall, backends: ['redis'] },
  'in the drain': { freeze: freezeInDrain, backends: ['redis'] },
};

/** A process is stopped, as a paused container or virtual machine is, while another one is there; then it wakes up. */
export const frozenProcessFaults: Fault[] = Object.entries(points).flatMap(
  ([point, { freeze, backends = both }]) =>
    Object.entries(lengths).map(([length, wait]) => ({
      name: `receiver or worker frozen ${point}, ${length}`,
      backends,
      deployment: { each },
      isLong: length === 'for good',
      inject: (deployment: Deployment, random: Random, run: Run) =>
        duringFreeze(freeze, wait, deployment, random, run),
    })),
);
