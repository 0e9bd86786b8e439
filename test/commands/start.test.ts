import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmptyDatabase } from '../support/database.ts';
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

describe('SIGTERM ends a start that waits for', () => {
  it('a database that does not respond', async () => {
    const service = start({ DATABASE_URL: `postgresql://a:b@127.0.0.1:${await silentPort()}/c` });
    await until(() => handlesSignals(service.child.pid));
    expect(await service.end('SIGTERM')).toBe(0);
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
