import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPackage, provideCluster } from '../../src/embedded/cluster.ts';
import { embeddedFolder, findPlace } from '../../src/embedded/place.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { listen } from '../support/listen.ts';
import { killProcesses, spawnReceiver, spawnService } from '../support/process.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'receiver-embedded-'));
});
afterEach(async () => {
  killProcesses();
  await until(() => !existsSync(pidFile()));
  for (const path of [home(), folder]) rmSync(path, { recursive: true, force: true });
});

const home = () => findPlace(embeddedFolder(folder)).home;
const pidFile = () => join(home(), 'database/postmaster.pid');
const start = () => spawnService({ DATA_DIR: folder });
const send = async (url: string) =>
  ((await (await post(url + paths.receipt, receiptCallback())).json()) as { status: string }).status;
const signIn = (url: string, token: string) =>
  fetch(`${url}/console/sign-in`, {
    method: 'POST',
    body: new URLSearchParams({ token }),
    headers: { Origin: url },
    redirect: 'manual',
  }).then(({ status }) => status);

/** Runs `receiver sql` beside the receiver. */
async function count(): Promise<string> {
  const command = spawnReceiver(['sql', '--json', 'select count(*) from receipts'], { DATA_DIR: folder });
  expect(await command.end()).toBe(0);
  return command.output().trim();
}

it('the first start makes database and admin token, alone, and the next has both; a stop ends the server', async () => {
  const first = await start();
  const file = join(folder, 'admin-token');
  const token = readFileSync(file, 'utf8').trim();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await until(() => first.output().includes('/console'));
  expect(first.output().split(token)).toHaveLength(2); // printed once, and never logged
  expect(await send(first.url)).toBe('accepted');
  await until(async () => (await count()) === '{"count":"1"}');
  const other = spawnReceiver(['start'], { DATA_DIR: folder, PORT: '0' });
  expect(await other.end()).toBe(1);
  expect(other.output()).toContain('uses the embedded database');
  expect(existsSync(pidFile())).toBe(true);
  expect(await first.end('SIGTERM')).toBe(0);
  expect(existsSync(pidFile())).toBe(false);

  const second = await start();
  expect(await send(second.url)).toBe('duplicate');
  expect(await count()).toBe('{"count":"1"}');
  expect(await signIn(second.url, token)).toBe(303);
  expect(second.output()).not.toContain(token);
});

it('the next start works on the same data after a killed receiver, or a killed server, which ends it', async () => {
  const first = await start();
  expect(await send(first.url)).toBe('accepted');
  expect(await first.end('SIGKILL')).toBe('SIGKILL');
  const second = await start();
  expect(await send(second.url)).toBe('duplicate');
  process.kill(Number.parseInt(readFileSync(pidFile(), 'utf8'), 10), 'SIGKILL');
  expect(await second.end()).toBe(1);
  expect(await send((await start()).url)).toBe('duplicate');
});

it('a port in use ends the start before a database is made', async () => {
  const { port: PORT } = new URL(await listen(() => {}));
  const command = spawnReceiver(['start'], { DATA_DIR: folder, PORT });
  expect(await command.end()).toBe(1);
  expect(command.output()).toMatch(`receiver: PORT ${PORT} of`);
  expect(existsSync(join(home(), 'database'))).toBe(false);
});

it('programs that do not run on this system end the start with what to set', async () => {
  const bin = join(folder, `postgresql-${(await findPackage()).version}`, 'bin');
  mkdirSync(bin, { recursive: true });
  // As on a system without the loader of the C library.
  writeFileSync(join(bin, 'initdb'), '#!/no/such/loader\n', { mode: 0o755 });
  await expect(provideCluster({ home: folder, user: undefined })).rejects.toThrow(
    /needs glibc: set DATABASE_URL/,
  );
});

it('programs in a DATA_DIR of another user are not run', async () => {
  const target = join(folder, `postgresql-${(await findPackage()).version}`);
  mkdirSync(target);
  // Only root can give a folder away, and root's own is no other user's.
  if (process.getuid!() === 0) chownSync(target, 4_243, 4_243);
  jest.spyOn(process, 'geteuid' as never).mockReturnValue(4_242 as never);
  await expect(provideCluster({ home: folder, user: undefined })).rejects.toThrow(/belongs to another user/);
  jest.restoreAllMocks();
});
