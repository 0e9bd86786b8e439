import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kysely, PostgresDialect } from 'kysely';
import type pg from 'pg';
import { families } from '../../src/callbacks/families/index.ts';
import { createLog } from '../../src/common/log.ts';
import { erasePatient } from '../../src/privacy/erase.ts';
import { applyErasures, exportErasures } from '../../src/privacy/erasures.ts';
import { applyRetention } from '../../src/privacy/retention.ts';
import { migrate } from '../../src/receiver/store/migrate.ts';
import { openPool } from '../../src/receiver/store/pools.ts';
import { prepare } from '../../src/receiver/store/prepare.ts';
import type { Tables } from '../../src/receiver/store/tables.ts';
import { coreOf } from '../support/core.ts';
import type { ReceiverDatabase } from '../support/receiver-database.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import { apply } from './apply.ts';

// Its own, because roles belong to a server.
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

async function as<T>(username: string, run: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const url = Object.assign(new URL(server.url), { username, password: 'secret' }).href;
  const pool = openPool(url, createLog('silent'), {
    name: 'test',
    connections: 10,
    connectTimeoutMs: 60_000,
  });
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
  await server.rows('revoke all on function pg_control_system from public');
  // As a hosted PostgreSQL with a public API sets it up.
  await server.rows('create role anon nologin');
  for (const kind of ['tables', 'sequences', 'functions', 'schemas'])
    await server.rows(`alter default privileges for role owner grant all on ${kind} to anon, public`);
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

it('a start gives other roles no rights, whatever the default privileges are; later grants stay', async () => {
  expect(await server.rows('select * from receiver.other_grants()')).toEqual([]);
  expect(await server.rows(`select has_schema_privilege('anon', 'receiver', 'usage') as may`)).toEqual([
    { may: false },
  ]);
  await server.rows('grant select on receipts to anon');
  await server.rows(`delete from receiver.settings where name = 'reporting'`);
  await server.rows('drop view reporting.schema_drift');
  expect(await migrateAs('owner')).toEqual(['reporting']);
  expect(await server.rows('select name, grantee, privilege from receiver.other_grants()')).toEqual([
    { name: 'public.receipts', grantee: 'anon', privilege: 'select' },
  ]);
});

it('a start needs no right to read the system identifier', async () => {
  const url = Object.assign(new URL(server.url), { username: 'owner', password: 'secret' }).href;
  const { signal } = new AbortController();
  const options = { families, timezone: 'Asia/Kolkata', connectTimeoutMs: 60_000, canWait: false, signal };
  const { identity } = await prepare({ url, ...options, log: createLog('silent') });
  expect(await identity).toMatch(/^[\w-]{36} \d+$/);
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
    await erasePatient(core, { id: 'somebody' }, ['p:platform:A']);
    const kept = `select hash, until from receiver.erased union all select value, null from receiver.settings where name = 'salt'`;
    const { rows: gate } = await pool.query(kept);
    for (const change of [
      `update receiver.erased set until = '-infinity'`,
      `update receiver.erased set hash = hash || 'x'`,
      `select receiver.gate(hash, '-infinity', erasure) from receiver.erased`,
      `update receiver.settings set value = 'x' where name in ('salt', 'identity')`,
      `delete from receiver.settings where name in ('salt', 'identity')`,
      `select receiver.adopt_salt('x')`,
    ])
      await pool.query(change);
    expect((await pool.query(kept)).rows).toEqual(gate);
    const file = join(mkdtempSync(join(tmpdir(), 'erasures-')), 'list.json');
    writeFileSync(file, await exportErasures(core.db));
    expect(await applyErasures(core, file)).toBe(1);
    expect((await pool.query(kept)).rows).toEqual(gate);
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
