import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { families } from '../../src/callbacks/families/index.ts';
import { createLog } from '../../src/common/log.ts';
import { erasePatient } from '../../src/privacy/erase.ts';
import { applyErasures, exportErasures } from '../../src/privacy/erasures.ts';
import { applyRetention } from '../../src/privacy/retention.ts';
import { migrate } from '../../src/receiver/store/migrate.ts';
import { prepare } from '../../src/receiver/store/prepare.ts';
import { coreOf } from '../support/core.ts';
import { connect } from '../support/database.ts';
import type { ReceiverDatabase } from '../support/receiver-database.ts';
import { testConfig } from '../support/service.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

// Its own, because roles belong to a server.
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const urlOf = (username: string) => Object.assign(new URL(server.url), { username, password: 'secret' }).href;
const as = <T>(username: string, run: (database: ReturnType<typeof connect>) => Promise<T>): Promise<T> => {
  const database = connect(urlOf(username), 10);
  return run(database).finally(() => database.pool.end());
};
const migrateAs = (username: string) => as(username, ({ db }) => migrate(db, families, createLog('silent')));

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
  await as('bi', ({ rows }) =>
    rows('select from reporting.receipts, reporting.receipts_as_of(now()), receipts'),
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
  const log = createLog('silent');
  await prepare({ config: testConfig(), databaseUrl: urlOf('owner'), families, log });
  await as('owner', async ({ rows }) => {
    expect(await rows('select receiver.system_identifier() as id')).toEqual([{ id: null }]);
  });
});

it('a service that owns nothing starts, and takes no erasure back', async () => {
  expect(await migrateAs('service')).toEqual([]);
  await as('service', async (database) => {
    const { rows } = database;
    const retention = { access_log: 366 * 86_400_000 };
    const core = coreOf(database as ReceiverDatabase, { retention });
    await erasePatient(core, { id: 'somebody' }, ['p:platform:A']);
    const kept = `select hash, until from receiver.erased union all select value, null from receiver.settings where name = 'salt'`;
    const gate = await rows(kept);
    for (const change of [
      `update receiver.erased set until = '-infinity'`,
      `update receiver.erased set hash = hash || 'x'`,
      `select receiver.gate(hash, '-infinity', erasure) from receiver.erased`,
      `update receiver.settings set value = 'x' where name in ('salt', 'identity')`,
      `delete from receiver.settings where name in ('salt', 'identity')`,
      `select receiver.adopt_salt('x')`,
    ])
      await rows(change);
    expect(await rows(kept)).toEqual(gate);
    const file = join(tempFolder(), 'list.json');
    writeFileSync(file, await exportErasures(core.db));
    expect(await applyErasures(core, file)).toBe(1);
    expect(await rows(kept)).toEqual(gate);
    expect(await applyRetention(core)).toMatchObject({ access_log: 0 });
  });
});
