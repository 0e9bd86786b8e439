import type { Service } from '../../src/service/service.ts';
import { consentFormCallback, deliveryOf, paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let service: Service & { url: string };
beforeAll(async () => {
  database = await createDatabase();
  service = await startTestService({ databaseUrl: database.url, sweep: { everyMs: 100, olderThanMs: 0 } });
});
afterAll(async () => {
  await service.stop();
  await database.close();
});
beforeEach(() => database.pool.query('truncate quarantine, inbox'));

async function run(...args: string[]): Promise<string> {
  const { code, output } = await runCommand(['quarantine', ...args], { DATABASE_URL: database.url, ...env });
  return `${output}${code === 0 ? '' : `exit ${code}`}`;
}
let env: Record<string, string> = {};
afterEach(() => {
  env = {};
});

const wrongFamily = consentFormCallback();
const broken = { ...receiptCallback(), event_time: undefined };

async function rejectThree() {
  expect((await post(service.url + paths.receipt, '{"cut')).status).toBe(400);
  expect((await post(service.url + paths.receipt, wrongFamily)).status).toBe(422);
  expect((await post(service.url + paths.receipt, broken)).status).toBe(422);
}

it('rejected callbacks are stored with their reason, and list, show and drop filter them', async () => {
  await rejectThree();
  const list = await run('list');
  for (const word of ['not_json', 'wrong_family', 'invalid', '/event_time is required', '3 in total']) {
    expect(list).toContain(word);
  }
  expect(await run('list', '--reason', 'wrong_family')).toContain('1 in total');
  expect(await run('list', '--since', '2999-01-01')).toContain('0 in total');
  expect(await run('show', '--reason', 'not_json')).toContain('{"cut');
  expect(await run('drop')).toContain('--all');
  expect(await run('drop', '--reason', 'not_json')).toContain('1 dropped');
  expect(await run('drop', '--all')).toContain('2 dropped');
  expect(await database.rows('select 1 from quarantine')).toEqual([]);
});

it('replay accepts callbacks that are valid now, whatever their path was, and no others', async () => {
  await rejectThree();
  const dry = await run('replay', '--dry-run');
  expect(dry).toContain('1 accepted, 0 of them duplicates, 2 rejected (dry run: nothing was changed)');
  expect(await database.rows('select 1 from deliveries')).toEqual([]);

  expect(await run('replay')).toContain('1 accepted');
  await until(
    async () => (await database.rows(`select 1 from deliveries where status = 'applied'`)).length === 1,
  );
  expect(await database.rows('select id from deliveries')).toEqual([
    { id: deliveryOf(wrongFamily as never).id },
  ]);
  expect(await database.rows('select 1 from quarantine where replayed_at is not null')).toHaveLength(1);
  expect(await run('replay')).toContain('0 accepted, 0 of them duplicates, 2 rejected');
});

it('replay records schema drift, and a dry run does not', async () => {
  await database.pool.query('truncate schema_drift');
  const unknownField = consentFormCallback({ data: { never_seen: 1 } });
  expect((await post(service.url + paths.receipt, unknownField)).status).toBe(422);
  const drift = `select event, kind from schema_drift where field = '/data/never_seen'`;
  expect(await run('replay', '--dry-run')).toContain('1 accepted');
  expect(await database.rows(drift)).toEqual([]);
  expect(await run('replay')).toContain('1 accepted');
  expect(await database.rows(drift)).toEqual([{ event: 'mcert.created', kind: 'unknown' }]);
});

it('replay accepts an event once it is no longer too far in the future', async () => {
  const seconds = Math.floor(Date.now() / 1000) + 86_400 + 3;
  const early = receiptCallback({ event_time: seconds });
  expect((await post(service.url + paths.receipt, early)).status).toBe(422);
  expect(await run('list')).toContain('/event_time must not be more than a day in the future');
  await until(async () => (await run('replay')).includes('1 accepted'));
  expect(await database.rows('select id from deliveries')).toEqual([{ id: deliveryOf(early).id }]);
});

it('replay accepts only allowed clients', async () => {
  await rejectThree();
  env = { ALLOWED_CLIENT_IDS: 'somebody-else' };
  expect(await run('replay', '--reason', 'wrong_family')).toContain('1 rejected');
});

it('a replay reads all pages of the quarantine', async () => {
  await database.pool.query(`insert into quarantine (id, path, reason, body)
    select gen_random_uuid(), 'receipt', 'invalid', convert_to('{"n":' || n || '}', 'utf8')
    from generate_series(1, 400) n`);
  expect(await run('replay')).toContain('400 rejected');
});
