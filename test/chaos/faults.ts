import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { Random } from '../../src/sandbox/random.ts';
import { startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import type { Deployment, Role } from './deployment.ts';
import type { TcpProxy } from './tcp-proxy.ts';

/** Breaks something, and repairs it. */
type Fault = (deployment: Deployment, random: Random) => Promise<void>;

// Longer than any timeout of the service.
const longMs = 3_000;
/** Longer than PostgreSQL waits for the session of a merge. */
const frozenMs = 12_000;

async function killAndStart(deployment: Deployment, ...roles: Role[]): Promise<void> {
  await Promise.all(roles.map((role) => deployment.processOf(role).end('SIGKILL')));
  await Promise.all(roles.map((role) => deployment.start(role)));
}

async function stopDatabase(deployment: Deployment): Promise<void> {
  deployment.signalDatabase('STOP');
  await pause(longMs);
  deployment.signalDatabase('CONT');
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

/** Processes and servers that end or hang, links that fail, stores that refuse, and clocks that jump. */
export const faults: Record<string, Fault> = {
  'receiver killed': (deployment) => killAndStart(deployment, 'receiver'),
  'worker killed': (deployment) => killAndStart(deployment, 'worker'),
  'worker frozen in the middle of merges': async (deployment) => {
    const { child } = deployment.processOf('worker');
    child.kill('SIGSTOP');
    await pause(frozenMs);
    child.kill('SIGCONT');
  },
  'PostgreSQL killed': (deployment) => deployment.killDatabase(),
  'PostgreSQL stopped': stopDatabase,
  'flapping link to PostgreSQL': ({ link }, random) => flap(link, random),
  'sessions of merges ended': async ({ rows }, random) => {
    for (let n = 0; n < 10; n += 1) {
      await pause(random.between(50, 300));
      await rows(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'receiver worker'`,
      );
    }
  },
  'a table locked': (deployment) =>
    holdTransaction(deployment, 'lock table receipts in access exclusive mode'),
  'rows locked': (deployment) =>
    holdTransaction(
      deployment,
      'select from receipts order by delivery_id desc limit 40 for update skip locked',
    ),
  'a column dropped': async ({ rows }) => {
    await rows('alter table receipts rename column mobile to other');
    await pause(longMs);
    await rows('alter table receipts rename column other to mobile');
  },
  'clock an hour ahead': async (deployment) => {
    deployment.setClock(3_600);
    await pause(longMs);
    deployment.setClock(0);
  },
};

/** With Redis as the queue. */
export const faultsWithRedis: Record<string, Fault> = {
  // Without Redis a process ends, and its supervisor restarts it.
  'PostgreSQL unreachable at start': async (deployment) => {
    deployment.link.cut();
    await killAndStart(deployment, 'receiver', 'worker');
    await pause(longMs);
    await deployment.link.restore();
  },
  'Redis killed': killRedis,
  'Redis stopped': async ({ redis }) => {
    redis!.signal('SIGSTOP');
    await pause(longMs);
    redis!.signal('SIGCONT');
  },
  'Redis flushed': async ({ redis }) => void (await redis!.client().flushall()),
  'Redis refuses writes': async ({ redis }) => {
    const client = redis!.client();
    await client.config('SET', 'min-replicas-to-write', '1');
    await pause(longMs);
    await client.config('SET', 'min-replicas-to-write', '0');
    client.disconnect();
  },
  'PostgreSQL stopped, Redis killed': async (deployment) => {
    await Promise.all([stopDatabase(deployment), killRedis(deployment)]);
  },
  // The replica goes when the first one is back, with what it knew before.
  'Redis fails over to its replica, and back': async ({ redis, redisLink }) => {
    const replica = await startRedis(['--replicaof', `127.0.0.1 ${redis!.port}`]);
    const client = replica.client();
    await until(async () => (await client.info('replication')).includes('master_link_status:up'));
    await redis!.kill();
    await client.replicaof('NO', 'ONE');
    await leadTo(redisLink!, replica.port);
    await pause(longMs);
    await redis!.restart();
    await leadTo(redisLink!, redis!.port);
    await replica.stop();
  },
  'flapping link to Redis': ({ redisLink }, random) => flap(redisLink!, random),
};

async function leadTo(link: TcpProxy, port: number): Promise<void> {
  link.cut();
  link.leadTo(port);
  await link.restore();
}

async function killRedis({ redis }: Deployment): Promise<void> {
  await redis!.kill();
  await pause(500);
  await redis!.restart();
}
