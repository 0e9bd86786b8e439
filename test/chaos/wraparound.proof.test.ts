import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { diagnose } from '../../src/diagnostics/diagnose.ts';
import { withClient } from '../../src/store/pool.ts';
import { signInTo } from '../console/visitor.ts';
import { type DebianServer, startDebianPostgres } from '../support/debian-postgres.ts';
import { spawnService, type TestProcess } from '../support/process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { send, untilApplied } from './sending.ts';

const adminToken = 'an-admin-token-of-tests';
/** PostgreSQL refuses commands that need an id from 3 million before the wraparound on. */
const beforeWraparound = 2 ** 31 - 2_900_000;

let server: DebianServer;
let redis: TestRedis;
let env: Record<string, string>;
let services: TestProcess[] = [];
const rows = (query: string) =>
  withClient(env.DATABASE_URL!, async (client) => (await client.query(query)).rows);

beforeAll(async () => {
  [server, redis] = await Promise.all([startDebianPostgres(), startRedis()]);
  env = { DATABASE_URL: await server.createDatabase('app', 'wraparound'), ADMIN_TOKEN: adminToken };
});
afterAll(async () => {
  for (const service of services) await service.end('SIGTERM');
  await Promise.all([server.stop(), redis.stop()]);
});

/** Sets the next transaction id of the stopped server. */
const setNext = (next: number, oldest: number) =>
  server.whileStopped((database, bin, options) => {
    const { uid, gid } = options as { uid?: number; gid?: number };
    // Of 2^20 transactions, two bits each.
    const segment = join(
      database,
      'pg_xact',
      Math.floor(next / 2 ** 20)
        .toString(16)
        .toUpperCase()
        .padStart(4, '0'),
    );
    if (!existsSync(segment)) writeFileSync(segment, Buffer.alloc(256 * 1024), { mode: 0o600 });
    if (uid !== undefined) chownSync(segment, uid, gid!);
    execFileSync(
      join(bin, 'pg_resetwal'),
      ['-f', '-x', `${next}`, '-u', `${oldest}`, '-D', database],
      options,
    );
  });

it('a server that accepts no commands before the wraparound is an outage: Redis acknowledges, without it 503, and all is applied after the repair', async () => {
  const withRedis = await spawnService({ ...env, REDIS_URL: redis.url });
  const without = await spawnService({ ...env, QUEUE_PREFIX: 'other' });
  services = [withRedis, without];
  const visitor = await signInTo(withRedis.url, adminToken);
  const [before] = await rows(`select min(datfrozenxid::text::bigint)::float8 as oldest,
    pg_snapshot_xmax(pg_current_snapshot())::text::float8 as next from pg_database`);
  const oldest = before.oldest as number;
  await setNext(oldest + beforeWraparound, oldest);

  await expect(rows('create table refused ()')).rejects.toMatchObject({ code: '54000' });
  const sent = [];
  for (let n = 0; n < 10; n += 1) sent.push(await send(withRedis));
  expect(sent.map(({ status }) => status)).toEqual(Array(10).fill(200));
  for (let n = 0; n < 5; n += 1) expect((await send(without)).status).toBe(503);

  const readyz = await fetch(`${withRedis.url}/readyz`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  const { parts } = (await readyz.json()) as { parts: Record<string, { ok: boolean; detail: string }> };
  expect([readyz.status, parts.database!.ok]).toEqual([200, false]);
  expect(parts.processing).toMatchObject({ ok: false, detail: expect.stringContaining('wraparound') });
  const failures = (await diagnose({ ...env, REDIS_URL: redis.url })).filter(
    ({ status }) => status === 'fail',
  );
  expect(failures.map(({ detail }) => detail).join('\n')).toMatch(/wraparound.*age\(datfrozenxid\)/s);
  const page = await (await visitor.get('/health')).text();
  expect(page).toContain('wraparound');

  await setNext(before.next + 10_000, oldest);
  await untilApplied(
    { rows } as never,
    sent.map(({ id }) => id),
    30_000,
  );
  await until(async () => (await send(without)).status === 200);
});
