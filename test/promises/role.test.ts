import { readFileSync } from 'node:fs';
import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { prepareTables } from '../../src/service/prepare-database.ts';
import { withClient } from '../../src/store/pool.ts';
import { adminToken, signInTo } from '../console/visitor.ts';
import { paths, receiptCallback, samples } from '../support/callbacks.ts';
import { spawnReceiver } from '../support/process.ts';
import { openRedis, type TestRedis } from '../support/redis.ts';
import { post, startTestService } from '../support/service.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';

const silent = createLog('silent');
// The recipe for administrators.
const recipe = /## Roles and schema.*?```sql\n(.*?)```/s.exec(readFileSync('docs/database.md', 'utf8'))![1]!;
const patient = '161467756044204';

let server: TestServer;
let redis: Pick<TestRedis, 'url' | 'stop'>;
beforeAll(async () => {
  redis = await openRedis();
  server = await startTestServer(); // its own, because roles belong to a server
  for (const statement of recipe.replaceAll('…', 'secret').replace(/--.*/g, '').split(';'))
    if (statement.trim())
      await server.rows(statement.replace('create database receiver ', 'create database clinic '));
});
afterAll(async () => {
  await server.stop();
  await redis.stop();
});

const urlOf = (username: string) =>
  Object.assign(new URL(server.url), { username, password: 'secret', pathname: '/clinic' }).href;
const owner = () => urlOf('receiver_owner');
const app = () => urlOf('receiver_app');
const asOwner = (query: string) => withClient(owner(), async (client) => (await client.query(query)).rows);
const asService = (query: string) => withClient(app(), async (client) => (await client.query(query)).rows);
const prepare = (url: string) => prepareTables(url, parseConfig({ DATABASE_URL: url }, families), silent);

it('the role of the receiver cannot prepare an empty database, and is told who can; the owner can', async () => {
  await expect(prepare(app())).rejects.toThrow(/run `receiver migrate` with the owner of the database/);
  expect((await prepare(owner())).migrations).toContain('reporting');
});

it('the role of the receiver receives, applies, replays, erases and deletes', async () => {
  const service = await startTestService({ databaseUrl: app(), redisUrl: redis.url, adminToken });
  const count = async (status: string) =>
    Number((await asOwner(`select count(*) from deliveries where status = '${status}'`))[0].count);
  try {
    const callbacks = Object.entries(samples);
    for (const [family, sample] of callbacks) {
      const path = (paths as Record<string, string>)[family] ?? '/events';
      expect([family, (await post(service.url + path, sample())).status]).toEqual([family, 200]);
    }
    expect((await post(service.url + paths.receipt, '{"event":')).status).toBe(400);
    // A second version.
    const changed = receiptCallback({ event_time: Date.now() + 1000 });
    expect((await post(service.url + paths.receipt, changed)).status).toBe(200);
    await until(async () => (await count('applied')) > callbacks.length && (await count('received')) === 0);
    expect(await (await signInTo(service.url)).read('/reports/receipts')).toContain('</table>');
  } finally {
    await service.stop();
  }
  const run = async (args: string[], env: Record<string, string> = {}) => {
    const command = spawnReceiver(args, { DATABASE_URL: app(), REDIS_URL: redis.url, ...env });
    expect([args, await command.end()]).toEqual([args, 0]);
    return command.output();
  };
  await run(['replay', '--status', 'applied']);
  await run(['patient', 'erase', patient, '--yes']);
  expect(await asOwner('select count(*)::int > 0 as some from withheld.records')).toEqual([{ some: true }]);
  // What is due, and entries of more than a year ago.
  await asOwner(`
    update withheld.records set destroy_at = now();
    alter table access_log disable trigger user;
    update access_log set at = at - interval '5 years' where entry < 4;
    alter table access_log enable trigger user`);
  const RETENTION = 'receipt=1d,consent_form=1d,appointment=1d,quarantine=1d,access_log=1y';
  await run(['retention'], { RETENTION });
  expect(await asOwner('select count(*)::int from withheld.records')).toEqual([{ count: 0 }]);
  expect(await asOwner('select min(entry)::int from access_log')).toEqual([{ min: 4 }]);
  await asService(`insert into patient_holds (hash, held_by) values (sha256(''), 'test')`);
});

it.each([
  ['create a table', `create table made ()`],
  ['drop a table', `drop table inbox`],
  ['change a callback', `update inbox set event = 'other'`],
  ['change the access log', `delete from access_log`],
  ['write to the access log', `insert into access_log table access_log`],
  ['remove all pseudonyms', `truncate patient_pseudonyms`],
  ['give a pseudonym another patient', `update patient_pseudonyms set patient_id = 'x'`],
  ['read what was erased', 'select content from withheld.records'],
  ['destroy what was erased', 'delete from withheld.records'],
  ['forget what was erased', `delete from erased`],
  ['let back what was erased', `update erased set until = '-infinity'`],
  ['remove a certificate', `delete from erasures`],
  ['change who erased', `update erasures set erased_by = 'x'`],
  ['release a hold that nobody reads of', `delete from patient_holds`],
  ['move a hold', `update patient_holds set hash = sha256('')`],
  ['change the list of migrations', `delete from receiver_migrations`],
  ['change the salt', `update erasure_salt set salt = ''`],
  ['change the reports', 'create view reporting.made as select 1'],
  ['change the time zone of the reports', `select reporting.write_zone('UTC')`],
  ['create a schema', 'create schema made'],
])('the role of the receiver may not %s', async (_, statement) => {
  await expect(asService(statement)).rejects.toMatchObject({ code: '42501' });
});

it('functions of the owner use no table of their caller', async () => {
  await asService(`
    create temporary table access_log (entry bigint generated by default as identity (start 999), at timestamptz, actor text, actor_name text, address text, action text, patients bytea[], filter jsonb, rows bigint);
    select log_access('x', null, null, 'reveal', '{}', false, '{}', 1)`);
  expect(await asOwner(`select count(*)::int from access_log where actor = 'x'`)).toEqual([{ count: 1 }]);
});

it('migrate gives the role of the receiver the rights that a database lacks which was restored without them', async () => {
  await asOwner('revoke all on all tables in schema public from receiver_service');
  await expect(asService('select from inbox')).rejects.toMatchObject({ code: '42501' });
  await prepare(owner());
  await asService('select from inbox limit 1');
});
