import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type InvalidConfiguration, parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { spawnReceiver, spawnService } from '../support/process.ts';
import { startTestService } from '../support/service.ts';

const database = useDatabase();
let folder: string;
let socket: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'receiver-socket-'));
  socket = join(folder, 'receiver.sock');
});
afterEach(() => rmSync(folder, { recursive: true }));

function post(body: unknown, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = { 'content-type': 'application/json', ...headers };
    const options = { socketPath: socket, method: 'POST', path: paths.receipt, headers: sent };
    request(options, (response) => resolve(response.resume().statusCode!))
      .on('error', reject)
      .end(JSON.stringify(body));
  });
}

it('a service on a socket file is reached by its group, names the file, and removes it at its end', async () => {
  const env = { SOCKET: socket, TRUST_PROXY: '1', DATABASE_URL: database.url };
  const service = await spawnService(env);
  expect(service.url).toBe(`unix:${socket}`);
  expect(statSync(socket).mode & 0o777).toBe(0o660);
  const send = spawnReceiver(['send', '--count', '5'], { SOCKET: socket });
  expect([await send.end(), send.output()]).toEqual([0, expect.stringContaining('5 acknowledged')]);
  expect(service.output()).toContain(`ready at unix:${socket}`);
  expect(service.output()).toContain(`curl -s --unix-socket ${socket} http://localhost/`);
  expect(await service.end('SIGTERM')).toBe(0);
  expect(existsSync(socket)).toBe(false);
});

it('the file of a killed process is replaced; one on which a process listens, and any other file, ends the start', async () => {
  const env = { SOCKET: socket, TRUST_PROXY: '1', DATABASE_URL: database.url };
  const first = await spawnService(env);
  const second = spawnReceiver(['start'], env);
  expect([await second.end(), second.output()]).toEqual([
    1,
    expect.stringContaining(`SOCKET ${socket} is in use`),
  ]);
  expect(await post(receiptCallback())).toBe(200);
  await first.end('SIGKILL');
  expect(existsSync(socket)).toBe(true);
  const third = await spawnService(env);
  expect(await post(receiptCallback())).toBe(200);
  expect(await third.end('SIGTERM')).toBe(0);

  writeFileSync(socket, 'precious');
  const fourth = spawnReceiver(['start'], env);
  expect(await fourth.end()).toBe(1);
  expect(existsSync(socket)).toBe(true);
});

it('a folder that does not exist is reported by its variable', async () => {
  const env = { SOCKET: join(folder, 'nowhere', 'x.sock'), TRUST_PROXY: '1', DATABASE_URL: database.url };
  const service = spawnReceiver(['start'], env);
  expect(await service.end()).toBe(1);
  expect(service.output()).toMatch(/SOCKET \S+ cannot be created: its folder must exist/);
});

it('behind a socket file the address that the proxy tells is checked and limited; without one the sender is on no list', async () => {
  const start = async (env: Record<string, string>) => {
    const { authentication, limits } = parseConfig({ SOCKET: socket, TRUST_PROXY: '1', ...env }, families);
    return startTestService({ databaseUrl: database.url, role: 'receiver', authentication, limits, socket });
  };
  const from = (address: string) => ({ 'x-forwarded-for': address });

  const listed = await start({ ALLOWED_IPS: '192.0.2.0/24' });
  expect(await post(receiptCallback(), from('192.0.2.7'))).toBe(200);
  expect(await post(receiptCallback(), from('192.0.2.7, 203.0.113.9'))).toBe(403);
  expect(await post(receiptCallback())).toBe(403);
  await listed.stop();

  const limited = await start({ RATE_LIMIT: '1' });
  const statuses = async (headers: Record<string, string>) => [
    await post(receiptCallback(), headers),
    await post(receiptCallback(), headers),
    await post(receiptCallback(), headers),
  ];
  expect(await statuses(from('192.0.2.7'))).toContain(429);
  expect(await post(receiptCallback(), from('192.0.2.8'))).toBe(200);
  expect(await statuses({})).toContain(429);
  await limited.stop();
});

it.each([
  [{ SOCKET: '/run/x.sock' }, 'SOCKET needs TRUST_PROXY'],
  [{ SOCKET: 'x.sock', TRUST_PROXY: '1' }, 'SOCKET must be an absolute path'],
  [{ SOCKET: `/${'x'.repeat(107)}`, TRUST_PROXY: '1' }, 'SOCKET must have at most 107 bytes'],
])('rejects the configuration %j', (env, problem) => {
  let problems: string[] = [];
  try {
    parseConfig(env, families);
  } catch (error) {
    ({ problems } = error as InvalidConfiguration);
  }
  expect(problems).toEqual([expect.stringContaining(problem)]);
});
