import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../support/until.ts';
import { type Deployment, type Role, startDeployment } from './deployment.ts';
import { drawBackends } from './drawn.ts';
import { send, untilApplied } from './sending.ts';

let deployment: Deployment;
afterEach(() => deployment.stop());

/** Ends the connections of every client of both stores, again and again. */
function endConnections({ rows, redis }: Deployment, pauseMs: number): { stop: () => Promise<void> } {
  const client = redis?.client();
  let ending = true;
  const done = (async () => {
    while (ending) {
      await rows(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where pid <> pg_backend_pid() and backend_type = 'client backend'`,
      );
      await client?.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await pause(Math.random() * pauseMs);
    }
  })();
  return {
    stop: async () => {
      ending = false;
      await done;
    },
  };
}

const roles = ['receiver', 'worker'] as const;

/** As a supervisor does: without Redis, a start needs PostgreSQL for the migrations. */
async function startAgain(role: Role): Promise<void> {
  for (;;) {
    const error = await deployment.start(role).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (!error) return;
    expect(error).not.toContain('unexpected error');
  }
}

it.each(drawBackends('connections'))(
  'on %s no process ends while its stores end connections at any time, also as they open, and nothing acknowledged is lost',
  async (backend) => {
    deployment = await startDeployment(backend);
    const ids: string[] = [];
    const sendSome = async (count: number) => {
      for (let sent = 0; sent < count; sent += 1) {
        const { status, id } = await send(deployment);
        expect([200, 503]).toContain(status);
        if (status === 200) ids.push(id);
      }
    };
    // Ended at any time, then within a start.
    for (const pauseMs of [0, 50]) {
      const ending = endConnections(deployment, pauseMs);
      await Promise.all(Array.from({ length: 5 }, () => sendSome(30)));
      await ending.stop();
    }
    for (let start = 0; start < 2; start += 1) {
      await Promise.all(roles.map((role) => deployment.processOf(role).end('SIGKILL')));
      const ending = endConnections(deployment, 200);
      await Promise.all(roles.map(startAgain));
      await sendSome(20);
      await ending.stop();
    }
    await until(async () => {
      await sendSome(1);
      return ids.length > 0;
    });
    await untilApplied(deployment, ids);
    for (const role of roles) expect(await deployment.processOf(role).end('SIGTERM')).toBe(0);
  },
);
