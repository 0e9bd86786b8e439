import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { logAccess } from '../../src/privacy/log/access-log.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { withClient } from '../../src/store/pool.ts';
import { deliveryOf, paths, receiptCallback } from '../support/callbacks.ts';
import { type DebianServer, startDebianPostgres } from '../support/debian-postgres.ts';
import { allKnown, fill, readEverything, rowsOf, send, sendAgain } from '../support/everything.ts';
import { spawnReceiver, spawnService } from '../support/process.ts';
import { changesEnv, readChanges } from '../support/read-changes.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const DATA_DIR = mkdtempSync(join(tmpdir(), 'receiver-move-'));
let server: DebianServer;
let everything: Record<string, unknown[]>;
/** Of the feed of changes, before the move. */
let cursor: string;

async function run(...args: string[]) {
  const command = spawnReceiver(args, { DATA_DIR });
  return { code: await command.end(), output: command.output() };
}

const late = receiptCallback({ data: { receipt_id: 5000 } });

async function withDatabase<T>(url: string, use: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase(url, createLog('silent'), { connections: 2, name: 'test' });
  return use(database).finally(database.close);
}

/** A migrated database without data. */
async function newDatabase(name: string): Promise<string> {
  const url = await server.createDatabase('clinic', name);
  await withDatabase(url, ({ db }) => migrate(db));
  return url;
}

/** Without the access log, to which a move adds an entry, and the feed, which goes on elsewhere. */
function withoutMarks({ access_log, change_feed, ...rest }: Record<string, unknown[]>) {
  return rest;
}

beforeAll(async () => {
  server = await startDebianPostgres();
  const service = await spawnService({ DATA_DIR, ...changesEnv, REPORT_TIMEZONE: 'Asia/Kathmandu' });
  const url = readFileSync(join(DATA_DIR, 'connection-url'), 'utf8').trim();
  await fill(service, url);
  await rowsOf(url, 'create table reminders as select 1 as n');
  const refused = await run('move', '--to', await server.createDatabase('clinic', 'too_early'));
  expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('Stop it first') });
  cursor = (await readChanges(service)).next;
  // One is not applied yet.
  service.child.kill('SIGSTOP');
  await withDatabase(url, ({ pool }) => insertDeliveries(pool, [deliveryOf(late)]));
  everything = await readEverything(url);
  expect(everything.pending_deliveries).toHaveLength(1);
  await service.end('SIGKILL');
});
afterAll(async () => {
  await server.stop();
  rmSync(DATA_DIR, { recursive: true, force: true });
});

it('a target that contains other data is refused, and stays as it is', async () => {
  const url = await newDatabase('used');
  await rowsOf(url, `insert into callback_paths values ('/a', 'receipt')`);
  expect(await run('move', '--to', url)).toMatchObject({
    code: 1,
    output: expect.stringMatching(/contains data \(callback_paths\). Name an empty database/),
  });
  expect(await rowsOf(url, 'select path from callback_paths')).toEqual([{ path: '/a' }]);
});

it('a move that was killed half way begins again; then every row is on the server, in PostgreSQL’s older version', async () => {
  const url = await newDatabase('moved');
  // The copy of the last tables waits.
  await withClient(url, async (client) => {
    await client.query(`
      create function wait() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return null; end $$;
      create trigger wait before insert on receipts for each statement execute function wait();
      select pg_advisory_lock(1)`);
    const command = spawnReceiver(['move', '--to', url], { DATA_DIR });
    const waiting = `select from pg_stat_activity where wait_event = 'advisory' and query like 'copy receipts%'`;
    await until(async () => (await client.query(waiting)).rowCount);
    expect(await command.end('SIGKILL')).toBe('SIGKILL');
    await client.query('select pg_advisory_unlock(1); drop function wait cascade');
  });
  await until(async () => (await rowsOf(url, 'select from inbox limit 1')).length === 0);

  const { code, output } = await run('move', '--to', url);
  expect(output).toContain('equal on both sides');
  expect(output).toContain('Left out, because the receiver does not know them: reminders');
  expect(output).not.toContain('clinic:clinic');
  expect(code).toBe(0);
  const { reminders, ...expected } = withoutMarks(everything);
  expect(reminders).toHaveLength(1);
  expect(withoutMarks(await readEverything(url))).toEqual(expected);

  // The former copy neither starts nor is moved twice.
  const start = await run('start');
  expect(start).toMatchObject({
    code: 1,
    output: expect.stringContaining('was moved to postgresql://clinic@'),
  });
  expect(await run('move', '--to', url)).toMatchObject({
    code: 0,
    output: expect.stringContaining('It was there already'),
  });

  const { changes } = parseConfig(changesEnv, families);
  const service = await startTestService({ databaseUrl: url, reportTimezone: 'Asia/Kathmandu', changes });
  expect(await sendAgain(service)).toEqual(allKnown);
  expect(await send(service.url + paths.receipt, late)).toBe('duplicate');
  await until(async () => (await rowsOf(url, 'select from receipts where receipt_id = 5000')).length === 1);
  // It has all that its reader has seen, so the cursor is kept.
  expect(await until(async () => (await readChanges(service, cursor)).ids)).toContain('5000');
  // The access log goes on after its last entry.
  const entry = await withDatabase(url, ({ db }) =>
    logAccess(db, { actor: { id: 'test' }, action: 'reveal' }),
  );
  expect(await rowsOf(url, `select from access_log where entry > ${entry}`)).toEqual([]);
  await service.stop();
  expect(await run('move', '--to', url)).toMatchObject({
    code: 1,
    output: expect.stringContaining('one of them was used since'),
  });
});

it('the tables that contain rows in a new database are those that a move replaces', async () => {
  const url = await newDatabase('new');
  const filled = Object.entries(await readEverything(url)).filter(
    ([name, rows]) => rows.length > 0 && !name.startsWith('reporting.'),
  );
  expect(filled.map(([name]) => name).sort()).toEqual(['database_identity', 'erasure_salt']);
});
