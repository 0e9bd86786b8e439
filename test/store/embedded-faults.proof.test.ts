import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provideAdminToken } from '../../src/commands/admin-token.ts';
import { createLog } from '../../src/common/log.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { type Lock, takeLock } from '../../src/store/embedded/lock.ts';
import { isAlive, isServerOf } from '../../src/store/embedded/processes.ts';
import { explainLimit } from '../../src/store/embedded/run-program.ts';
import type { ServerProcess } from '../../src/store/embedded/server-process.ts';
import { supervise } from '../../src/store/embedded/supervise.ts';
import { copyCluster } from '../support/cluster.ts';
import { rowsOf } from '../support/everything.ts';
import { spawnReceiver } from '../support/process.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const folders: string[] = [];
const children: ChildProcess[] = [];
const servers: { stop: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const server of servers.splice(0)) await server.stop();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function dataDir(): string {
  folders.push(mkdtempSync(join(tmpdir(), 'receiver-embedded-')));
  copyCluster(folders.at(-1)!);
  return folders.at(-1)!;
}

async function start(folder: string) {
  const server = await startEmbeddedPostgres(folder, log, ['fsync=off']);
  servers.push(server);
  return server;
}

const lockFile = (folder: string) => join(folder, 'database/postmaster.pid');
const pidOf = (folder: string) => Number(readFileSync(lockFile(folder), 'utf8').split('\n')[0]);

/** Takes the lock of a folder; after its release it looks like that of a start that was killed. */
async function takeAndLeave(home: string): Promise<Lock> {
  const lock = await until(async () => {
    const taken = await takeLock({ home, user: undefined });
    return typeof taken === 'object' ? taken : undefined;
  });
  const name = readdirSync(home).find((file) => file.startsWith('lock.'))!;
  linkSync(join(home, name), join(home, name.replace(/[^.]+$/, 'abcdef')));
  return lock;
}

/** A folder whose service and server were killed. */
async function killed(): Promise<string> {
  const folder = dataDir();
  const first = spawnReceiver(['start'], { DATA_DIR: folder, PORT: '0' });
  const pid = await until(() => (existsSync(lockFile(folder)) ? pidOf(folder) : 0));
  await until(() => isServerOf(folder.concat('/database'), pid));
  process.kill(pid, 'SIGKILL');
  await first.end('SIGKILL');
  return folder;
}

it('a stale postmaster.pid with the process id of another server, or of a program with its name and folder: neither is signalled', async () => {
  const other = dataDir();
  await start(other);
  const folder = await killed();
  const tail = spawn('tail', ['-f', '/dev/null', 'postgresql'], { cwd: join(folder, 'database') });
  children.push(tail);
  for (const pid of [pidOf(other), tail.pid!, process.pid]) {
    const lines = [pid, join(folder, 'database'), 1, 20_000, '', '127.0.0.1', ''];
    writeFileSync(lockFile(folder), lines.join('\n'));
    await (await takeAndLeave(folder)).release();
    const server = await start(folder);
    expect(server.isOwn).toBe(true);
    expect(isAlive(pid)).toBe(true);
    await servers.pop()!.stop();
  }
  expect(isServerOf(join(other, 'database'), pidOf(other))).toBe(true);
});

it('no process has the id 0 or none', () => {
  for (const pid of [0, -1, Number.NaN]) expect(isAlive(pid)).toBe(false);
});

it('a start while another container has the folder ends with the reason', async () => {
  const folder = dataDir();
  const holder = createServer().listen(join(folder, 'lock.0123456789ab.0123456789ab'));
  await until(() => holder.listening);
  await expect(start(folder)).rejects.toThrow('Another container uses');
  holder.close();
});

it('of many that take the lock of a folder at once, never two have it; it is free when the last program with it has ended', async () => {
  const home = mkdtempSync(join(tmpdir(), 'receiver-lock-'));
  folders.push(home);
  const take = () => takeLock({ home, user: undefined });
  const isLock = (taken: unknown): taken is Lock => typeof taken === 'object';
  for (let round = 0; round < 20; round += 1) {
    const taken = (await Promise.all(Array.from({ length: 4 }, take))).filter(isLock);
    expect(taken.length).toBeLessThanOrEqual(1);
    for (const lock of taken) await lock.release();
  }
  const lock = await takeAndLeave(home);
  const program = spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', lock.fd!] });
  children.push(program);
  await lock.release();
  expect(await take()).toBe('here');
  program.kill('SIGKILL');
  const next = await until(async () => [await take()].find(isLock));
  expect(next.hasFormer).toBe(true);
  await next.release();
});

const damages: Record<string, (file: string) => void> = {
  missing: (file) => rmSync(file),
  empty: (file) => truncateSync(file),
  zeros: (file) => writeFileSync(file, Buffer.alloc(8)),
  cut: (file) => truncateSync(file, 3),
};
const written = ['password', 'owner', 'port', 'connection-url'];
const cases = [
  ...Object.keys(damages).map((damage) => [damage, written] as const),
  ...written.map((file) => ['empty', [file]] as const),
];

it('whatever a power cut does to the files of a start, the next one has every row', async () => {
  const folder = dataDir();
  await rowsOf((await start(folder)).url, 'create table kept as select 42 as n');
  await servers.pop()!.stop();
  for (const [damage, files] of cases) {
    writeFileSync(join(folder, 'owner'), '1');
    for (const file of files) damages[damage]!(join(folder, file));
    const { url } = await start(folder);
    expect([damage, files, await rowsOf(url, 'select n from kept')]).toEqual([damage, files, [{ n: 42 }]]);
    await servers.pop()!.stop();
  }
});

it('an admin token that a power cut has emptied is a new one; one that somebody wrote is kept, or named as too short', () => {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-token-'));
  folders.push(folder);
  const provide = () =>
    provideAdminToken({
      adminToken: undefined,
      databaseUrl: undefined,
      dataDir: folder,
      role: 'all',
    } as never)!;
  const first = provide();
  expect(first).toMatchObject({ isNew: true, token: expect.stringMatching(/^.{24}$/) });
  expect(provide()).toEqual({ ...first, isNew: false });
  for (const content of ['', '\n', '\0'.repeat(25)]) {
    writeFileSync(first.file, content);
    expect(provide()).toMatchObject({ isNew: true, token: expect.stringMatching(/^[\w-]{24}$/) });
  }
  writeFileSync(first.file, 'short');
  expect(provide).toThrow('contains no valid token');
});

it('what a first start was making when it was killed is removed by the next one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-embedded-'));
  folders.push(folder);
  const drafts = () => readdirSync(folder).filter((name) => /^(database|postgresql-.*)\.\d{3,}$/.test(name));
  const first = spawnReceiver(['start'], { DATA_DIR: folder, PORT: '0' });
  await until(() => drafts().some((name) => name.startsWith('database.')));
  await first.end('SIGKILL');
  mkdirSync(join(folder, 'postgresql-18.4.0.123'));
  await start(folder);
  expect(drafts()).toEqual([]);
});

it('a server that cannot be started again is tried at growing intervals, with one line for each change', async () => {
  const lines: string[] = [];
  const write = (...args: unknown[]) => void lines.push(args.at(-1) as string);
  const server = (exited: Promise<void>): ServerProcess => ({
    pid: undefined,
    exited,
    stop: async () => {},
    reason: () => '',
  });
  let attempts = 0;
  const begin = async () => {
    attempts += 1;
    if (attempts < 3) throw new Error('spawn EAGAIN');
    return server(new Promise(() => {}));
  };
  supervise(server(Promise.resolve()), begin, '/nowhere', { error: write, info: write } as never);
  await until(() => lines.length === 3);
  expect(lines).toEqual([
    'embedded PostgreSQL ended; restarting it',
    'embedded PostgreSQL could not be restarted; trying again',
    'embedded PostgreSQL runs again',
  ]);
});

it.each([
  ['spawn /bin/sh EAGAIN', 'limit of processes'],
  ['LOG:  could not fork startup process: Resource temporarily unavailable', 'limit of processes'],
  ['spawn /bin/sh EMFILE', 'ulimit -n'],
  ['FATAL:  insufficient file descriptors available to start server process', 'ulimit -n'],
  ['ENFILE: file table overflow', 'fs.file-max'],
  ['No space left on device', 'disk is full'],
])('%s: the limit is named', (reason, limit) => {
  expect(explainLimit(reason)).toContain(limit);
});

it('with too few files, the start ends with the limit', async () => {
  const few = ['/bin/sh', '-c', 'ulimit -n 64; exec "$@"', 'sh'];
  const command = spawnReceiver(['migrate'], { DATA_DIR: dataDir() }, undefined, few);
  expect(await command.end()).toBe(1);
  expect(command.output()).toContain('The limit of open files');
});
