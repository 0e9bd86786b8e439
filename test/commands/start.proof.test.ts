import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { createDatabase, createEmptyDatabase } from '../support/database.ts';
import { spawnReceiver, type TestProcess } from '../support/process.ts';
import { until } from '../support/until.ts';

const folders: string[] = [];
const servers: Server[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) server.close();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const folder of folders.splice(0)) {
    await until(() => processesOf(folder).length === 0);
    rmSync(folder, { recursive: true, force: true });
  }
});

/** A new, empty folder. */
function newFolder(): string {
  folders.push(mkdtempSync(join(tmpdir(), 'receiver-start-')));
  chmodSync(folders.at(-1)!, 0o755); // for the user that PostgreSQL runs as
  return folders.at(-1)!;
}

/** The processes with this folder in their command line or as their working directory. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      const lines = [readFileSync(`/proc/${pid}/cmdline`, 'utf8'), readlinkSync(`/proc/${pid}/cwd`)];
      return lines.some((line) => line.includes(folder));
    } catch {
      return false; // not a process, or ended
    }
  });
}

/** Whether the process has its own signal handlers; Node's do not include SIGHUP. */
function handlesSignals(pid: number | undefined): boolean {
  const caught = /^SigCgt:\s+(\w+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (BigInt(`0x${caught![1]}`) & 1n) !== 0n;
}

function start(env: Record<string, string>): TestProcess {
  const service = spawnReceiver(['start'], { PORT: '0', ...env });
  children.push(service.child);
  return service;
}

/** The port of a server that accepts connections and never responds. */
async function silentPort(): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

it('a signal at any time during the first start ends it with exit code 0 and leaves no process behind', async () => {
  const signals = fc.constantFrom('SIGTERM', 'SIGINT', 'SIGHUP');
  await fc.assert(
    fc.asyncProperty(signals, fc.integer({ min: 0, max: 2_500 }), async (signal, afterMs) => {
      const folder = newFolder();
      const service = start({ DATA_DIR: join(folder, 'data') });
      await until(() => handlesSignals(service.child.pid));
      await pause(afterMs);
      expect(await service.end(signal as NodeJS.Signals)).toBe(0);
      await until(() => processesOf(folder).length === 0);
      expect(readdirSync(folder).filter((name) => name.startsWith('database.'))).toEqual([]);
    }),
    { numRuns: 12 },
  );
});

describe('SIGTERM ends a start that waits for', () => {
  it('a database that does not respond', async () => {
    const service = start({ DATABASE_URL: `postgresql://a:b@127.0.0.1:${await silentPort()}/c` });
    await until(() => handlesSignals(service.child.pid));
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('an unavailable database and Redis', async () => {
    const service = start({
      DATABASE_URL: `postgresql://a:b@127.0.0.1:${await freePort()}/c`,
      REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
    });
    await until(() => service.output().includes('PostgreSQL is unavailable'));
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('a Redis that does not respond', async () => {
    const database = await createDatabase();
    const service = start({
      DATABASE_URL: database.url,
      REDIS_URL: `redis://127.0.0.1:${await silentPort()}`,
    });
    await until(() => handlesSignals(service.child.pid));
    expect(await service.end('SIGTERM')).toBe(0);
    await database.close();
  });

  it('a lock of the database', async () => {
    const database = await createEmptyDatabase();
    const other = await database.pool.connect();
    await other.query(`select pg_advisory_lock(hashtext('receiver schema'))`);
    const service = start({ DATABASE_URL: database.url });
    await until(() => service.output().includes('waiting for another process that changes the schema'));
    expect(await service.end('SIGTERM')).toBe(0);
    await other.query('select pg_advisory_unlock_all()');
    other.release();
    await database.close();
  });
});

it('process 1 of a container ends on SIGTERM before it is ready', async () => {
  // Without permission for a namespace it is not process 1, but must end with 0, too.
  const namespace = ['--fork', '--pid', '--kill-child'];
  const canNamespace = spawnSync('unshare', [...namespace, 'true']).status === 0;
  const program = [process.execPath, 'bin/receiver.js', 'start'];
  const [command, ...args] = canNamespace ? ['unshare', ...namespace, ...program] : program;
  const DATABASE_URL = `postgresql://a:b@127.0.0.1:${await silentPort()}/c`;
  const child = spawn(command!, args, { env: { ...process.env, PORT: '0', DATABASE_URL }, stdio: 'ignore' });
  children.push(child);
  const exited = once(child, 'exit');
  const pid = await until(() => {
    if (!canNamespace) return child.pid;
    return Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim());
  });
  await until(() => handlesSignals(pid));
  process.kill(pid, 'SIGTERM');
  expect(await exited).toEqual([0, null]);
});

it('SIGTERM to npm start ends the receiver and its database', async () => {
  const folder = newFolder();
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', DATA_DIR: join(folder, 'data') };
  const npm = spawn('npm', ['start'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(npm);
  let output = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await until(() => output.includes('"msg":"ready"'));
  const pid = Number(/"pid":(\d+)/.exec(output)![1]);
  expect(processesOf(folder).length).toBeGreaterThan(0);
  const exited = once(npm, 'exit');
  npm.kill('SIGTERM');
  await exited;
  await until(() => !existsSync(`/proc/${pid}`));
  await until(() => processesOf(folder).length === 0);
  expect(output).toContain('"msg":"stopped"');
});

it('a port in use is found before anything is created, and the message names PORT', async () => {
  const folder = newFolder();
  const PORT = String(await silentPort());
  const service = start({ PORT, DATA_DIR: join(folder, 'data') });
  expect(await service.end()).toBe(1);
  expect(service.output()).toContain(`PORT ${PORT} of 127.0.0.1 is in use`);
  expect(readdirSync(folder)).toEqual([]);
});

it('a HOST that is no address of this machine is reported before anything is created', async () => {
  const folder = newFolder();
  const service = start({ HOST: '192.0.2.1', DATA_DIR: join(folder, 'data') });
  expect(await service.end()).toBe(1);
  expect(service.output()).toContain('HOST 192.0.2.1 is not an address of this machine');
  expect(readdirSync(folder)).toEqual([]);
});

it('of two services that start at once in a folder with the same port, one runs and the other reports why it does not', async () => {
  const folder = newFolder();
  const env = { PORT: String(await freePort()), DATA_DIR: join(folder, 'data') };
  const services = [start(env), start(env)];
  const [one, two] = services as [TestProcess, TestProcess];
  const ended = await until(() => services.find(({ child }) => child.exitCode !== null));
  const running = ended === one ? two : one;
  expect(await ended.end()).toBe(1);
  expect(ended.output()).toContain(`PORT ${env.PORT} of 127.0.0.1 is in use`);
  await until(() => running.output().includes('"msg":"ready"'));
  expect((await fetch(`http://127.0.0.1:${env.PORT}/healthz`)).status).toBe(200);
  expect(await running.end('SIGTERM')).toBe(0);
});
