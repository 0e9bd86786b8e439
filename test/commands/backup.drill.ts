import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { adminUrl } from '../../src/store/embedded/roles.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { rowsOf, send } from '../support/everything.ts';
import { spawnReceiver, spawnService, type TestProcess } from '../support/process.ts';
import { changesEnv, readChanges } from '../support/read-changes.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'receiver-backup-'));
const DATA_DIR = mkdtempSync(join(tmpdir(), 'receiver-backed-up-'));
let service: TestProcess;
beforeAll(async () => {
  service = await spawnService({ DATA_DIR, ...changesEnv });
});
const restored: string[] = [];
afterAll(async () => {
  await service.end('SIGTERM');
  for (const place of [folder, DATA_DIR, ...restored]) rmSync(place, { recursive: true, force: true });
});

async function run(...args: string[]) {
  const command = spawnReceiver(args, { DATA_DIR });
  return { code: await command.end(), output: command.output() };
}

const receipt = (receipt_id: number) => receiptCallback({ data: { receipt_id } });
const urlOf = (home: string) => readFileSync(join(home, 'connection-url'), 'utf8').trim();

/** Puts a backup in place as an administrator would who copies it from another disk: owners and modes are lost. */
function restore(backup: string, parent = tmpdir()): string {
  const place = mkdtempSync(join(parent, 'receiver-restored-'));
  restored.push(place);
  execFileSync('sh', ['-c', `umask 022; cp -r --no-preserve=all '${backup}/.' '${place}'`]);
  return place;
}

it('a backup under load has what was acknowledged before it began, once; the receiver starts on it and knows all of that', async () => {
  const acknowledged = new Set<number>();
  let next = 1;
  let isDone = false;
  const senders = Array.from({ length: 2 }, async () => {
    while (!isDone) {
      const id = next++;
      if ((await send(service.url + paths.receipt, receipt(id))) === 'accepted') acknowledged.add(id);
    }
  });
  await until(() => acknowledged.size > 200);
  const before = [...acknowledged];
  const to = join(folder, 'under-load');
  expect(await run('backup', '--to', to)).toMatchObject({ code: 0 });
  expect(acknowledged.size).toBeGreaterThan(before.length);
  isDone = true;
  await Promise.all(senders);

  for (const path of readdirSync(to, { recursive: true, encoding: 'utf8' })) {
    const { mode } = statSync(join(to, path));
    expect([path, mode & 0o077]).toEqual([path, 0]);
  }
  const copy = restore(to);
  const other = await spawnService({ DATA_DIR: copy });
  try {
    const rows = await rowsOf(urlOf(copy), `select envelope #>> '{data,receipt_id}' as id from inbox`);
    const ids = rows.map(({ id }) => Number(id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(before.filter((id) => !ids.includes(id))).toEqual([]);
    for (const id of before.slice(-2)) {
      expect(await send(other.url + paths.receipt, receipt(id))).toBe('duplicate');
    }
    const [counts] = await rowsOf(urlOf(copy), 'select count(*)::int as n from inbox');
    await until(
      async () => (await rowsOf(urlOf(copy), 'select count(*)::int as n from receipts'))[0]!.n === counts!.n,
    );
  } finally {
    await other.end('SIGTERM');
  }
});

it('in a restored backup every cursor has to begin anew, and versions are greater than any before', async () => {
  const follow = async (after: string | undefined, id: number) => {
    expect(await send(service.url + paths.receipt, receipt(id))).toBe('accepted');
    return until(async () => {
      const page = await readChanges(service, after);
      return page.ids.includes(String(id)) ? page.next : undefined;
    });
  };
  const { next: start } = await readChanges(service);
  const kept = await follow(start, 2_000_001);
  const to = join(folder, 'followed');
  expect(await run('backup', '--to', to)).toMatchObject({ code: 0 });
  const lost = await follow(kept, 2_000_002);
  const place = restore(to);
  const other = await spawnService({ DATA_DIR: place, ...changesEnv });
  let again: TestProcess | undefined;
  try {
    const { next: anew, ids, least } = await readChanges(other);
    expect(ids).toContain('2000001');
    expect(ids).not.toContain('2000002');
    expect(least).toBeGreaterThan((await readChanges(service, start)).greatest);
    for (const cursor of [kept, lost])
      expect(await readChanges(other, cursor)).toMatchObject({ status: 410 });
    for (const cursor of [kept, lost])
      expect(await readChanges(service, cursor)).toMatchObject({ status: 200 });
    // A restart of the copy is none.
    await other.end('SIGTERM');
    again = await spawnService({ DATA_DIR: place, ...changesEnv });
    expect(await readChanges(again, anew)).toMatchObject({ status: 200, ids: [] });
  } finally {
    await (again ?? other).end('SIGTERM');
  }
});

it('a backup that is killed leaves no folder of its name, and the next one is complete', async () => {
  const to = join(folder, 'killed');
  const command = spawnReceiver(['backup', '--to', to], { DATA_DIR });
  await until(() => existsSync(`${to}.partial/database/base`));
  expect(await command.end('SIGKILL')).toBe('SIGKILL');
  expect(existsSync(to)).toBe(false);
  expect(await send(service.url + paths.receipt, receipt(1_000_000))).toBe('accepted');
  // The former session may last a moment longer.
  await until(async () => (await run('backup', '--to', to)).code === 0);
  expect(existsSync(`${to}.partial`)).toBe(false);
  expect(existsSync(join(to, 'database/backup_label'))).toBe(true);
});

it('a backup with a damaged page fails with its file and block; there is none of its name', async () => {
  const url = urlOf(DATA_DIR);
  // Nobody changes the page in memory: PostgreSQL would write it again, whole.
  await rowsOf(
    url,
    'create table damaged with (autovacuum_enabled = off) as select generate_series(1, 5000) as n',
  );
  await rowsOf(url, 'vacuum freeze damaged');
  await rowsOf(adminUrl(DATA_DIR, url), 'checkpoint');
  const [row] = await rowsOf(url, `select pg_relation_filepath('damaged') as path`);
  const file = openSync(join(DATA_DIR, 'database', row!.path as string), 'r+');
  writeSync(file, Buffer.from('damaged'), 0, 7, 3 * 8192 + 5000);
  closeSync(file);
  const to = join(folder, 'damaged');
  expect(await run('backup', '--to', to)).toMatchObject({
    code: 1,
    output: expect.stringContaining(`${row!.path}: block 3 is damaged`),
  });
  expect(existsSync(to)).toBe(false);
  await rowsOf(url, 'drop table damaged');
});

it('an existing folder, and a server of one’s own, are refused with what to do', async () => {
  expect(await run('backup', '--to', folder)).toMatchObject({
    code: 1,
    output: expect.stringContaining('exists. Name a new folder'),
  });
  const command = spawnReceiver(['backup', '--to', join(folder, 'x')], {
    DATABASE_URL: 'postgresql://a@127.0.0.1/b',
  });
  expect(await command.end()).toBe(1);
  expect(command.output()).toContain('Use pg_dump');
});

it('a stopped service is backed up, too; the copy starts where the server’s user has no access to the folder', async () => {
  expect(await send(service.url + paths.receipt, receipt(2_000_000))).toBe('accepted');
  await service.end('SIGTERM');
  const to = join(folder, 'stopped');
  expect(await run('backup', '--to', to)).toMatchObject({ code: 0 });
  const copy = restore(to, homedir());
  const query = `
    select (select count(*) from inbox where envelope #>> '{data,receipt_id}' = '2000000') as deliveries,
      (select action from access_log order by entry desc limit 1) as logged`;
  const command = spawnReceiver(['sql', '--json', query], { DATA_DIR: copy });
  const code = await command.end();
  if (existsSync(join(copy, 'elsewhere'))) restored.push(readlinkSync(join(copy, 'elsewhere')));
  expect([code, command.output().trim()]).toEqual([0, '{"deliveries":"1","logged":"backup"}']);
});
