import { readFileSync } from 'node:fs';
import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { prepareTables } from '../../src/service/prepare-database.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { withClient } from '../../src/store/pool.ts';
import { tourConsole } from '../console/tour.ts';
import { adminToken } from '../console/visitor.ts';
import { alertsTo, startWebhook } from '../support/alert-channels.ts';
import { paths, receiptCallback, samples } from '../support/callbacks.ts';
import { spawnReceiver } from '../support/process.ts';
import { openRedis, type TestRedis } from '../support/redis.ts';
import { withSchema } from '../support/schema.ts';
import { post, startTestService } from '../support/service.ts';
import { startPrimary, type TestServer } from '../support/standby.ts';
import { until } from '../support/until.ts';

const silent = createLog('silent');
// The recipe for administrators.
const recipe = /## Roles and schema.*?```sql\n(.*?)```/s.exec(readFileSync('docs/database.md', 'utf8'))![1]!;

const patient = '161467756044204';

let server: TestServer;
let redis: Pick<TestRedis, 'url' | 'stop'>;
beforeAll(async () => {
  redis = await openRedis();
  server = await startPrimary(); // its own, because roles belong to a server
  const statements = recipe.replaceAll('…', 'secret').replace(/--.*/g, '').split(';');
  for (const statement of statements.filter((text) => text.trim() && !text.includes('create database'))) {
    await server.rows(statement);
  }
});
afterAll(async () => {
  await server.stop();
  await redis.stop();
});

describe.each([
  ['redis', 'public'],
  ['postgresql', 'clinic'],
])('with the queue on %s and the tables in the schema %s', (backend, schema) => {
  const name = `of_${backend}`;
  const urlOf = (user: string) =>
    Object.assign(new URL(server.url), { username: user, password: 'secret', pathname: `/${name}` }).href;
  const owner = () => urlOf('receiver_owner');
  const app = () => urlOf('receiver_app');
  const env = (url: string) => ({
    DATABASE_URL: url,
    DATABASE_SCHEMA: schema,
    ...(backend === 'redis' ? { REDIS_URL: redis.url } : {}),
  });
  const asOwner = async (query: string) =>
    withClient(owner(), async (client) => (await client.query(query)).rows, { search_path: schema });
  const asService = async (query: string) =>
    withClient(app(), async (client) => (await client.query(query)).rows);

  beforeAll(() => server.rows(/create database.*?;/s.exec(recipe)![0].replace(' receiver ', ` ${name} `)));

  it('the role of the receiver cannot prepare an empty database, and is told who can', async () => {
    const url = app();
    await expect(prepareTables(url, parseConfig(env(url), families), silent)).rejects.toThrow(
      /run `receiver migrate` with the owner of the database/,
    );
  });

  it('the owner prepares everything, and the role of the receiver does everything else', async () => {
    const url = owner();
    const { migrations } = await prepareTables(url, parseConfig(env(url), families), silent);
    expect(migrations).toContain('reporting');
    const webhook = await startWebhook();
    const service = await startTestService({
      databaseUrl: app(),
      databaseSchema: schema,
      alerts: alertsTo(webhook.url),
      redisUrl: backend === 'redis' ? redis.url : undefined,
      adminToken,
      sweep: { everyMs: 200, olderThanMs: 0 },
    });
    const count = async (status: string) =>
      Number(
        (await asOwner(`select count(*) from ${schema}.deliveries where status = '${status}'`))[0].count,
      );
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
      await until(() => webhook.messages.some((text) => /quarantine/.test(text)));
      await tourConsole(service.url, asOwner);
    } finally {
      await service.stop();
      await webhook.stop();
    }
    let retention = {};
    const run = async (...args: string[]) => {
      const command = spawnReceiver(args, { ...env(app()), ...retention });
      return [args[0], await command.end(), command.output()];
    };
    expect(await run('retention', 'run', '--dry-run')).toEqual([
      'retention',
      expect.anything(),
      expect.any(String),
    ]);
    expect(await run('audit', 'verify')).toEqual(['audit', 0, expect.any(String)]);
    expect(await run('replay', '--status', 'applied')).toEqual(['replay', 0, expect.any(String)]);
    // As a version stored it that did not know the family.
    for (const table of ['inbox', 'applied_deliveries'])
      await asOwner(`update ${schema}.${table} set family = 'other' where family = 'booking'`);
    expect(await run('replay', '--family', 'other')).toEqual([
      'replay',
      0,
      expect.stringMatching(/^1 applied/m),
    ]);
    expect(await run('patient', 'erase', patient, '--yes')).toEqual(['patient', 0, expect.any(String)]);
    expect(await asOwner('select count(*)::int > 0 as some from withheld.records')).toEqual([{ some: true }]);
    // What is due, and entries of more than a year ago.
    await asOwner(`
      update withheld.records set destroy_at = now();
      alter table access_log disable trigger user;
      update access_log set at = at - interval '5 years' where entry < 4;
      alter table access_log enable trigger user`);
    retention = {
      RETENTION: 'receipt=1d,consent_form=1d,appointment=1d,quarantine=1d,bodies=1d,access_log=1y',
    };
    expect(await run('retention')).toEqual(['retention', 0, expect.any(String)]);
    expect(await asOwner('select count(*)::int from withheld.records')).toEqual([{ count: 0 }]);
    expect(await asOwner(`select min(entry)::int from ${schema}.access_log`)).toEqual([{ min: 4 }]);
    await asService(`insert into ${schema}.patient_holds (hash, held_by) values (sha256(''), 'test')`);
    await asService(`delete from ${schema}.deliveries`);
    expect(await asOwner(`select count(*)::int from ${schema}.applied_deliveries`)).toEqual([{ count: 0 }]);
  });

  it.each([
    ['create a table', () => `create table ${schema}.made ()`],
    ['drop a table', () => `drop table ${schema}.inbox`],
    ['change a callback', () => `update ${schema}.inbox set event = 'other'`],
    ['change the access log', () => `delete from ${schema}.access_log`],
    ['write to the access log', () => `insert into ${schema}.access_log table ${schema}.access_log`],
    ['move the head of the access log', () => `update ${schema}.access_log_head set entry = 0`],
    [
      'say that entries were deleted',
      () => `select ${schema}.append_access_log('x', null, null, 'retention', '{}', false, '{}', 1)`,
    ],
    ['remove all pseudonyms', () => `truncate ${schema}.patient_pseudonyms`],
    ['give a pseudonym another patient', () => `update ${schema}.patient_pseudonyms set patient_id = 'x'`],
    ['read what was erased', () => 'select content from withheld.records'],
    ['destroy what was erased', () => 'delete from withheld.records'],
    ['forget what was erased', () => `delete from ${schema}.erased`],
    ['let back what was erased', () => `update ${schema}.erased set until = '-infinity'`],
    ['forget what was erased as a word', () => `delete from ${schema}.erased_words`],
    ['let back another word', () => `update ${schema}.erased_words set words = '{}'`],
    ['remove a certificate', () => `delete from ${schema}.erasures`],
    ['change who erased', () => `update ${schema}.erasures set erased_by = 'x'`],
    ['release a hold that nobody reads of', () => `delete from ${schema}.patient_holds`],
    ['move a hold', () => `update ${schema}.patient_holds set hash = sha256('')`],
    ['change the list of migrations', () => `delete from ${schema}.receiver_migrations`],
    ['make another key of sessions', () => `insert into ${schema}.session_key (id) values (true)`],
    ['remove the key of sessions', () => `delete from ${schema}.session_key`],
    ['change the salt', () => `update ${schema}.erasure_salt set salt = ''`],
    ['change the reports', () => 'create view reporting.made as select 1'],
    ['change the time zone of the reports', () => `select reporting.write_zone('UTC')`],
    ['create a schema', () => 'create schema made'],
  ])('the role of the receiver may not %s', async (_, statement) => {
    await expect(asService(statement())).rejects.toMatchObject({ code: '42501' });
  });

  it('functions of the owner use no table of their caller, and nobody else may call them', async () => {
    await asService(`
      create temporary table access_log_head (entry bigint, hash bytea);
      insert into access_log_head values (999, '');
      select ${schema}.log_access('x', null, null, 'reveal', '{}', false, '{}', 1)`);
    expect(await asOwner(`select count(*)::int from ${schema}.access_log where entry > 900`)).toEqual([
      { count: 0 },
    ]);
    await expect(
      asService(`select ${schema}.log_access('x', null, null, 'x', '{}', false, '{"access_log": 1}', 1)`),
    ).rejects.toThrow('only delete_log_entries');
    const open = await asOwner(`
      select p.oid::regprocedure::text as name from pg_proc p
      where prosecdef and (coalesce(proacl, acldefault('f', proowner))::text ~ '[{,]=X'
        or not coalesce(proconfig::text, '') ~ 'pg_temp')`);
    // Views call it with the rights of their reader; it tells days of businesses.
    expect(open).toEqual([{ name: 'outdated(text)' }, { name: 'outdated_months(text)' }]);
  });

  it('a start that lacks migrations, or has another time zone, ends with what the owner has to do', async () => {
    const open = (url: string) => openDatabase(url, silent, { connections: 3, name: 'test', schema });
    const database = open(app());
    try {
      expect(await migrate(database.db)).toEqual([]);
      await withSchema({ 'migrations/9001_more.sql': 'create table more ();' }, async (folder) => {
        await expect(migrate(database.db, undefined, folder)).rejects.toMatchObject({
          problems: [
            expect.stringMatching(/lack 9001_more.*run `receiver migrate` with the role receiver_owner/),
          ],
        });
      });
      // Those of another release, as during a rolling update.
      await withSchema(
        { 'reporting/9_more.sql': 'create view reporting.more as select;' },
        async (folder) => {
          const said: string[] = [];
          const log = { warn: (_: object, message: string) => void said.push(message) };
          expect(await migrate(database.db, log as never, folder)).toEqual([]);
          expect(said).toEqual([expect.stringMatching(/until their owner runs/)]);
        },
      );
      const config = parseConfig({ ...env(app()), REPORT_TIMEZONE: 'UTC' }, families);
      await expect(prepareTables(app(), config, silent)).rejects.toMatchObject({
        problems: [
          expect.stringMatching(
            /run `receiver migrate` with the role receiver_owner and this REPORT_TIMEZONE/,
          ),
        ],
      });
    } finally {
      await database.close();
    }
  });
});
