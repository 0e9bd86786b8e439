import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { logAccess } from '../../../src/common/access-log.ts';
import { createLog } from '../../../src/common/log.ts';
import { erasePatient } from '../../../src/privacy/erase.ts';
import { applyRetention } from '../../../src/privacy/retention.ts';
import { families } from '../../../src/receiver/families/index.ts';
import { migrate } from '../../../src/receiver/store/migrate.ts';
import type { Tables } from '../../../src/receiver/store/tables.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';
import { coreOf } from '../support/core.ts';
import type { ReceiverDatabase } from '../support/database.ts';
import { apply } from './apply.ts';

// Its own, because roles belong to a server.
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

async function as<T>(username: string, run: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const connectionString = Object.assign(new URL(server.url), { username, password: 'secret' }).href;
  const pool = new pg.Pool({ connectionString });
  try {
    return await run(pool);
  } finally {
    await pool.end();
  }
}
const migrateAs = (username: string) =>
  as(username, (pool) => {
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
    return migrate(db, families, createLog('silent'));
  });

it('an owner that may not make roles leaves them out, and gives them their rights once they are there', async () => {
  await server.rows(`create role owner login password 'secret'`);
  await server.rows('alter database receiver owner to owner');
  await server.rows('alter schema public owner to owner');
  expect(await migrateAs('owner')).toContain('reporting');
  expect(await server.rows(`select from pg_roles where rolname ~ '^reporting_'`)).toEqual([]);
  for (const role of ['reporting_reader nologin', 'receiver_service nologin'])
    await server.rows(`create role ${role}`);
  await server.rows(`create role service login password 'secret' in role receiver_service`);
  await server.rows(`create role bi login password 'secret' in role reporting_reader`);
  expect(await migrateAs('owner')).toEqual(['reporting']);
  await as('bi', (pool) =>
    pool.query('select from reporting.receipts, reporting.receipts_as_of(now()), receipts'),
  );
});

it('a service that owns nothing starts, stores and merges, and takes no erasure back', async () => {
  expect(await migrateAs('service')).toEqual([]);
  await as('service', async (pool) => {
    await apply({ pool }, [
      { event: 'receipt.created', event_time: 1_763_000_000, business_id: 'b', data: { receipt_id: 1 } },
    ]);
    expect((await pool.query('select status from public.deliveries')).rows).toEqual([{ status: 'applied' }]);
    expect((await pool.query('table reporting.receipts')).rows).toHaveLength(1);
    const core = coreOf(
      { pool, db: new Kysely({ dialect: new PostgresDialect({ pool }) }) } as ReceiverDatabase,
      {
        retention: { access_log: 366 * 86_400_000 },
      },
    );
    await logAccess(core, { actor: { id: 'somebody' }, action: 'erase', subjects: ['p:platform:A'] });
    await erasePatient(core, ['p:platform:A'], { actor: 'somebody' });
    expect(await applyRetention(core)).toMatchObject({ access_log: 0 });
    for (const query of [
      'delete from receiver.erased',
      'delete from access_log',
      `update access_log set actor = ''`,
      'drop table receipts',
      'drop view reporting.receipts',
    ])
      await expect(pool.query(query)).rejects.toMatchObject({ code: '42501' });
  });
});
