import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/common/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { provideBinaries } from '../../src/store/embedded/binaries.ts';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { findPlace } from '../../src/store/embedded/place.ts';
import { adminPasswordFile, adminUrl, readerUrl } from '../../src/store/embedded/roles.ts';
import { runProgram } from '../../src/store/embedded/run-program.ts';
import { spawnServer } from '../../src/store/embedded/server-process.ts';
import { migrate } from '../../src/store/migrate.ts';
import { withClient } from '../../src/store/pool.ts';
import { acceptsConnections } from '../support/accepts-connections.ts';
import { copyCluster } from '../support/cluster.ts';
import { spawnReceiver } from '../support/process.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const folders: string[] = [];
const servers: { stop: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function dataDir(): string {
  folders.push(mkdtempSync(join(tmpdir(), 'receiver-roles-')));
  return folders.at(-1)!;
}

async function start(folder: string): Promise<string> {
  const server = await startEmbeddedPostgres(folder, log, ['fsync=off']);
  servers.push(server);
  return server.url;
}

async function migrated(url: string): Promise<void> {
  const database = openDatabase(url, log, { connections: 3, name: 'test' });
  await migrate(database.db).finally(database.close);
}

const rowsOf = (url: string, query: string) =>
  withClient(url, async (client) => (await client.query(query)).rows);

/** A data directory as versions made it whose service was the superuser, with the tables of the receiver and others. */
async function formerCluster(folder: string): Promise<void> {
  const place = findPlace(folder);
  const bin = await provideBinaries(place.home);
  if (place.user) chownSync(place.home, place.user.uid, place.user.gid);
  const file = join(place.home, 'password');
  writeFileSync(file, 'former', { mode: 0o644 });
  const options = ['--username=receiver', `--pwfile=${file}`, '--auth=scram-sha-256', '--encoding=UTF8'];
  const database = join(place.home, 'database');
  await runProgram([join(bin, 'initdb'), `--pgdata=${database}`, ...options, '--locale=C'], place, undefined);
  const port = await freePort();
  const server = spawnServer(place, bin, database, port, ['fsync=off']);
  const url = `postgresql://receiver:former@127.0.0.1:${port}/postgres`;
  await until(() => acceptsConnections(url));
  await rowsOf(url, 'create database receiver');
  await rowsOf(
    url.replace(/postgres$/, 'receiver'),
    `create role bi login;
     create schema own;
     create table own.notes (n bigserial, i int generated always as identity, text text);
     insert into own.notes (text) values ('kept');
     create view own.shown as select text from own.notes;
     create type own.mood as enum ('good');
     create domain own.short as text check (length(value) < 9);
     create type own.pair as (a int, b int);
     create function own.answer() returns int language sql return 42;
     create sequence own.numbers;
     create statistics own.both on n, text from own.notes`,
  );
  await migrated(url.replace(/postgres$/, 'receiver'));
  await server.stop();
}

const attacks = [
  `copy (select 1) to program 'touch /tmp/never'`,
  `copy (select 1) to '/tmp/never'`,
  'create temporary table t (x text)',
  `select pg_read_file('/etc/passwd')`,
  `select pg_ls_dir('/')`,
  `select lo_import('/etc/passwd')`,
  `select pg_reload_conf()`,
  `select pg_switch_wal()`,
  `do $$ begin execute 'reset role'; execute 'copy (select 1) to program ''true'''; end $$`,
  `do $$ begin execute 'set role receiver'; delete from aliases; end $$`,
  'set role receiver_admin',
  'alter role receiver_reader superuser',
  'delete from aliases',
  `select log_access('x', null, null, 'reveal', '{}', false, '{}', 1)`,
  'commit; delete from aliases',
];

it('receiver sql reads every table, and can neither run programs, nor use files, nor write; with --write it is the owner', async () => {
  const folder = dataDir();
  copyCluster(folder);
  const url = await start(folder);
  await migrated(url);
  const sql = async (...args: string[]) => {
    const command = spawnReceiver(['sql', '--json', ...args], { DATA_DIR: folder });
    return { code: await command.end(), output: command.output() };
  };
  for (const attack of attacks.slice(0, 2)) expect([attack, (await sql(attack)).code]).toEqual([attack, 1]);
  for (const attack of attacks) {
    const refused = { code: expect.stringMatching(/^(42501|25006)$/) };
    await expect(rowsOf(readerUrl(url), attack)).rejects.toMatchObject(refused);
  }
  expect(existsSync('/tmp/never')).toBe(false);
  expect((await sql('select count(*)::int from withheld.records')).output).toContain('{"count":"0"}');
  expect((await sql('select current_user')).output).toContain('receiver_reader');
  expect(
    (
      await sql(
        '--write',
        `insert into aliases (kind, id, alias, updated_by) values ('business', 'b', 'B', 'x')`,
      )
    ).code,
  ).toBe(0);
  for (const attack of attacks.slice(0, 2)) expect((await sql('--write', attack)).code).toBe(1);
});

it('a data directory of a version whose service was the superuser is handed over, and again after the loss of a password', async () => {
  const folder = dataDir();
  await formerCluster(folder);
  const url = await start(folder);
  await migrated(url);
  const check = async (address: string) => {
    expect(await rowsOf(address, 'select rolsuper from pg_roles where rolname = current_user')).toEqual([
      { rolsuper: false },
    ]);
    expect(await rowsOf(address, 'select text, own.answer() as n from own.shown')).toEqual([
      { text: 'kept', n: 42 },
    ]);
    expect(
      await rowsOf(
        address,
        `select distinct pg_get_userbyid(owner) as owner from (
           select relowner as owner from pg_class where oid >= 16384 and relnamespace <> 'pg_toast'::regnamespace
           union all select proowner from pg_proc where oid >= 16384
           union all select typowner from pg_type where oid >= 16384
           union all select stxowner from pg_statistic_ext
           union all select nspowner from pg_namespace where oid >= 16384
           union all select datdba from pg_database where datname = 'receiver'
         ) owned`,
      ),
    ).toEqual([{ owner: 'receiver' }]);
  };
  await check(url);
  // As an administrator of the reports does.
  await rowsOf(
    url,
    'grant reporting_reader to bi; drop table own.notes cascade; create schema again; drop schema again',
  );
  await rowsOf(
    url,
    `create table own.notes as select 'kept' as text; create view own.shown as table own.notes`,
  );
  await servers.pop()!.stop();
  for (const files of [['password'], ['admin-password'], ['password', 'admin-password']]) {
    for (const file of files) rmSync(join(findPlace(folder).home, file));
    await check(await start(folder));
    await servers.pop()!.stop();
  }
});

it('the password of the administrator is its own, and only the server’s user can read it', async () => {
  const folder = dataDir();
  copyCluster(folder);
  const url = await start(folder);
  const administrator = new URL(adminUrl(findPlace(folder).home, url));
  expect(administrator.password).not.toBe(new URL(url).password);
  expect(await rowsOf(administrator.href, 'select 1 as one')).toEqual([{ one: 1 }]);
  expect(statSync(adminPasswordFile(findPlace(folder).home)).mode & 0o077).toBe(0);
});

it.each([
  ['in clear', 3],
  ['as an MD5 hash', 5],
])('who listens on the port of a server that is down is told no password %s', async (_, kind) => {
  const url = await start(dataDir());
  const answers: Buffer[] = [];
  const request = Buffer.alloc(kind === 5 ? 13 : 9, 'R');
  request.writeUInt32BE(request.length - 1, 1);
  request.writeUInt32BE(kind, 5);
  const impostor = createServer((socket) => {
    socket
      .on('error', () => {})
      .once('data', () => {
        socket.on('data', (data) => answers.push(data));
        socket.write(request);
      });
  });
  await once(impostor.listen(0, '127.0.0.1'), 'listening');
  const port = String((impostor.address() as AddressInfo).port);
  try {
    for (const address of [url, readerUrl(url)]) {
      const there = Object.assign(new URL(address), { port }).href;
      await expect(withClient(there, (client) => client.query('select 1'))).rejects.toThrow(
        'asks for its password',
      );
    }
    expect(
      Buffer.concat(answers)
        .toString('latin1')
        .match(/^p|md5/),
    ).toBeNull();
  } finally {
    impostor.close();
  }
});
