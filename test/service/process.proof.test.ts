import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adminToken, signInTo } from '../console/visitor.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createEmptyDatabase, useDatabase } from '../support/database.ts';
import { killProcesses, spawnReceiver, spawnService } from '../support/process.ts';
import { migrations } from '../support/schema.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
afterEach(killProcesses);

it.each(['SIGTERM', 'SIGINT', 'SIGUSR2'] as const)(
  '%s stops every role, with exit code 0',
  async (signal) => {
    const services = await Promise.all(
      ['all', 'receiver', 'worker'].map((ROLE) => spawnService({ ROLE, DATABASE_URL: database.url })),
    );
    expect(services.map(({ url }) => url !== '')).toEqual([true, true, false]);
    expect(await Promise.all(services.map((service) => service.end(signal)))).toEqual([0, 0, 0]);
  },
);

it.each([
  ['bin/receiver.js', [process.execPath, 'bin/receiver.js', 'start']],
  ['bin/start.sh, as npm start, the image and the unit do,', ['sh', 'bin/start.sh']],
])('a service that is started by %s opens no inspector on SIGUSR1', async (_way, [program, ...args]) => {
  // A free port instead of the inspector's usual one, which another process may have.
  const env = { ...process.env, PORT: '0', DATABASE_URL: database.url, NODE_OPTIONS: '--inspect-port=0' };
  const child = spawn(program!, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    await until(() => output.includes('"msg":"ready"'));
    child.kill('SIGUSR1');
    const { url } = JSON.parse(output.split('\n').find((line) => line.includes('"msg":"ready"'))!);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const exited = once(child, 'exit');
    child.kill('SIGUSR2');
    expect(await exited).toEqual([0, null]);
    expect(output).not.toMatch(/debugger|inspector/i);
  } finally {
    child.kill('SIGKILL');
  }
});

it('a bad configuration ends with exit code 78 and a line for each error', async () => {
  const command = spawnReceiver(['start'], { PORT: 'x', ROLE: 'y', DATABASE_URL: 'z' });
  expect(await command.end()).toBe(78);
  const variables = command
    .output()
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[0]);
  expect(variables.toSorted()).toEqual(['DATABASE_URL', 'PORT', 'ROLE']);
});

it('prints the addresses for every event and of the three families of the interface, and a curl command that the receiver accepts', async () => {
  const service = await spawnService({ DATABASE_URL: database.url });
  for (const name of ['receipt', 'consent_form', 'review_request', 'other'] as const)
    expect(service.output()).toContain(service.url + paths[name]);
  const [, address, body] = /curl -s (\S+) -H 'Content-Type: application\/json' -d '(.*)'/.exec(
    service.output(),
  )!;
  expect((await post(address!, body)).status).toBe(200);
  expect(await service.end('SIGTERM')).toBe(0);
});

it('sql prints rows, and migrate creates the tables of an empty database once', async () => {
  const fresh = await createEmptyDatabase();
  const run = async (...args: string[]) => {
    const command = spawnReceiver(args, { DATABASE_URL: fresh.url });
    expect(await command.end()).toBe(0);
    return command.output();
  };
  expect(await run('migrate')).toBe(`Ran ${[...migrations, 'reporting'].join(', ')}.\n`);
  expect(await run('migrate')).toBe('Nothing to do.\n');
  expect(await run('sql', 'select 12.50::numeric as amount, null as nothing')).toContain('12.50');
  await fresh.close();
});

it.each(['start', 'migrate', 'sql', 'send', 'sandbox', 'search', 'register', 'subscriptions'])(
  '%s has a help page',
  async (command) => {
    const help = spawnReceiver([command, '--help'], {});
    expect(await help.end()).toBe(0);
    expect(help.output()).toContain(`Usage: receiver ${command}`);
  },
);

it('an open connection of a sender does not delay a stop', async () => {
  const service = await spawnService({ DATABASE_URL: database.url });
  expect((await post(service.url + paths.receipt, receiptCallback())).status).toBe(200);
  expect(await service.end('SIGTERM')).toBe(0);
});

it('serves the OpenAPI document where an admin token is set, to requests with this token', async () => {
  const openapi = async (env: Record<string, string>, headers: Record<string, string> = {}) => {
    const service = await spawnService({ DATABASE_URL: database.url, ...env });
    const response = await fetch(`${service.url}/openapi.json`, { headers });
    const document = (await response.json()) as { openapi?: string };
    expect(await service.end('SIGTERM')).toBe(0);
    return [response.status, document.openapi];
  };
  const env = { ADMIN_TOKEN: '0123456789abcdef' };
  expect(await openapi({})).toEqual([404, undefined]);
  expect(await openapi(env)).toEqual([401, undefined]);
  expect(await openapi(env, { Authorization: `Bearer ${env.ADMIN_TOKEN}` })).toEqual([200, '3.1.0']);
});

it('the built console serves its pages and files', async () => {
  const service = await spawnService({ DATABASE_URL: database.url, ADMIN_TOKEN: adminToken });
  const visitor = await signInTo(service.url);
  const page = await visitor.read('/reports/receipts');
  const assets = new Set(
    Array.from(page.matchAll(/\/console(\/assets\/[^"]+)"/g), ([, path]) => path!.replaceAll('&amp;', '&')),
  );
  expect(assets.size).toBe(5);
  for (const path of assets) {
    const response = await visitor.get(path);
    expect([path, response.status]).toEqual([path, 200]);
    expect(response.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
    await response.text();
  }
  expect(await service.end('SIGTERM')).toBe(0);
});

it('on the embedded database an admin token is generated, printed once, readable only by its owner, and never logged', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-token-'));
  const start = () => spawnService({ DATA_DIR: folder });
  const first = await start();
  await until(() => first.output().includes('/console'));
  const token = readFileSync(join(folder, 'admin-token'), 'utf8').trim();
  expect(statSync(join(folder, 'admin-token')).mode & 0o777).toBe(0o600);
  expect(first.output().split(token)).toHaveLength(2);
  const logged = first
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  expect(logged.join()).not.toContain(token);
  expect((await fetch(`${first.url}/openapi.json`)).status).toBe(401);
  await signInTo(first.url, token);
  expect(await first.end('SIGTERM')).toBe(0);

  const second = await start();
  await until(() => second.output().includes('/console'));
  expect(second.output()).not.toContain(token);
  await signInTo(second.url, token);
  expect(await second.end('SIGTERM')).toBe(0);
  rmSync(folder, { recursive: true, force: true });
});

it('the image starts the receiver as npm start does', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: { start: string } };
  const [, command] = /^CMD (\[.*)$/m.exec(readFileSync('Dockerfile', 'utf8'))!;
  expect(['exec', ...JSON.parse(command!)].join(' ')).toBe(scripts.start);
});

it.each(['SQL_ASCII', 'LATIN1'] as const)('start and migrate reject a database in %s', async (encoding) => {
  const other = await createEmptyDatabase(encoding);
  try {
    const commands = ['start', 'migrate'].map((name) =>
      spawnReceiver([name], { PORT: '0', DATABASE_URL: other.url }),
    );
    for (const command of commands) {
      expect(await command.end()).toBe(78);
      expect(command.output()).toMatch(
        new RegExp(
          `^DATABASE_URL leads to a database whose encoding is ${encoding}; .*encoding 'UTF8' template template0\n$`,
        ),
      );
    }
    expect(await other.rows('select from pg_tables where schemaname = $1', ['public'])).toEqual([]);
  } finally {
    await other.close();
  }
});
