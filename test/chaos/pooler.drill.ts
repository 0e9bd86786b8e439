import { setTimeout as pause } from 'node:timers/promises';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { killProcesses, spawnService, type TestProcess } from '../support/process.ts';
import { openRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { draw, drawBackends } from './drawn.ts';
import { send } from './sending.ts';

let redis: Pick<TestRedis, 'url' | 'stop'>;
let database: TestDatabase;
let pooler: PgBouncer;
beforeEach(async () => {
  redis = await openRedis();
  database = await createEmptyDatabase();
  pooler = await startPgBouncer(process.env.TEST_POSTGRES_URL!);
});
afterEach(async () => {
  killProcesses();
  await pooler.stop();
  await database.close();
  await redis.stop();
});

/** Ends the sessions behind the pooler, in which transactions run. */
const endSessions = () =>
  database.rows(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where pid <> pg_backend_pid() and datname = current_database()`,
  );

it.each(drawBackends('pooler'))(
  'with the queue on %s nothing acknowledged is lost while a pooler is killed, and sessions behind it are ended',
  async (queue) => {
    const env = {
      DATABASE_URL: pooler.through(database.url),
      ...(queue === 'redis' && { REDIS_URL: redis.url }),
    };
    const receiver = await spawnService({ ...env, ROLE: 'receiver' });
    const worker = await spawnService({ ...env, ROLE: 'worker' });
    const ids: string[] = [];
    let breaking = true;
    const sending = (async () => {
      while (breaking) {
        const { status, id } = await send(receiver);
        expect([200, 503]).toContain(status);
        if (status === 200) ids.push(id);
      }
    })();
    for (let round = 0; round < 3; round += 1) {
      for (let times = 0; times < 20; times += 1) {
        await endSessions();
        await pause(draw() * 50);
      }
      await pooler.restart();
      await pause(draw() * 500);
    }
    breaking = false;
    await sending;
    expect(ids.length).toBeGreaterThan(0);
    await until(async () => {
      const rows = await database.rows(`select id from deliveries where status = 'applied'`);
      const applied = new Set(rows.map(({ id }) => id));
      return ids.every((id) => applied.has(id));
    });
    const ends = (processes: TestProcess[]) => Promise.all(processes.map((one) => one.end('SIGTERM')));
    expect(await ends([receiver, worker])).toEqual([0, 0]);
  },
);
