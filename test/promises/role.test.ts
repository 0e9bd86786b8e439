import { readFileSync } from 'node:fs';
import { paths, samples } from '../support/callbacks.ts';
import { killProcesses, spawnReceiver, spawnService } from '../support/process.ts';
import { queryOnce } from '../support/query-once.ts';
import { post } from '../support/service.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';

// The recipe for administrators.
const recipe = /## Roles and schema.*?```sql\n(.*?)```/s.exec(readFileSync('docs/database.md', 'utf8'))![1]!;
const patient = 'patient-1';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(); // its own, because roles belong to a server
  for (const statement of recipe.replaceAll('…', 'secret').split(';'))
    if (statement.trim())
      await server.rows(statement.replace('create database receiver ', 'create database clinic '));
});
afterEach(killProcesses);
afterAll(() => server.stop());

const urlOf = (username: string) =>
  Object.assign(new URL(server.url), { username, password: 'secret', pathname: '/clinic' }).href;
const asOwner = (query: string) => queryOnce(urlOf('receiver_owner'), query);
const asService = (query: string) => queryOnce(urlOf('receiver_app'), query);
const run = async (username: string, args: string[], env: Record<string, string> = {}) => {
  const command = spawnReceiver(args, { DATABASE_URL: urlOf(username), ...env });
  return { code: await command.end(), output: command.output() };
};

it('the documented recipe makes an owner that migrates, and a role of the service that cannot', async () => {
  expect(await run('receiver_app', ['migrate'])).toMatchObject({
    code: 1,
    output: expect.stringMatching(/42501\. Migrate as the owner of the database/),
  });
  expect(await run('receiver_owner', ['migrate'])).toMatchObject({ code: 0 });
  expect(await run('receiver_app', ['migrate'])).toMatchObject({ code: 0 });
});

it('the role of the receiver receives, applies, replays, erases and expires every family', async () => {
  const service = await spawnService({ DATABASE_URL: urlOf('receiver_app') });
  const callbacks = Object.entries(samples);
  for (const [family, sample] of callbacks) {
    const { status } = await post(service.url + paths[family as keyof typeof paths], sample());
    expect([family, status]).toEqual([family, 200]);
  }
  expect((await post(service.url + paths.receipt, '{"event":')).status).toBe(400);
  const applied = `select from deliveries where status = 'applied'`;
  const untilApplied = () => until(async () => (await asOwner(applied)).length === callbacks.length);
  await untilApplied();
  const ids = (await asOwner('select id from deliveries')).map(({ id }) => id as string);
  const settings = { RETENTION: 'receipt=1d,quarantine=1d,access_log=1y' };
  for (const args of [['replay', ...ids], ['patient', 'erase', patient, '--yes'], ['retention']]) {
    expect([args[0], await run('receiver_app', args, settings)]).toMatchObject([args[0], { code: 0 }]);
    if (args[0] === 'replay') await untilApplied();
  }
  expect(await asOwner('select receipt_id from receipts')).toEqual([]);
  expect(await asOwner('select count(*)::int as n from receiver.erasures')).toEqual([{ n: 1 }]);
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.output()).not.toContain('42501');
});

it.each([
  'create table made ()',
  'drop table receiver.inbox',
  'drop view reporting.receipts',
  'truncate receiver.inbox',
  'alter table receipts add made text',
  'create view reporting.made as select 1',
  'create schema made',
  'delete from receiver.kysely_migration',
  'delete from receiver.erased',
  'update receiver.withheld set id = id',
  'delete from access_log',
  `update access_log set actor = ''`,
  'truncate access_log',
])('the role of the receiver may not %s', async (statement) => {
  await expect(asService(statement)).rejects.toMatchObject({ code: '42501' });
});

it('migrate gives the role the rights that a database lacks which was restored without them', async () => {
  await asOwner('revoke all on all tables in schema receiver, reporting, public from receiver_service');
  await asOwner('revoke usage on schema receiver, reporting from receiver_service');
  await expect(asService('select from receiver.inbox')).rejects.toMatchObject({ code: '42501' });
  expect(await run('receiver_owner', ['migrate'])).toMatchObject({ code: 0 });
  await asService('select from receiver.inbox limit 1');
});
