import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { findPlace } from '../../src/store/embedded/place.ts';
import { spawnServer } from '../../src/store/embedded/server.ts';
import { withClient } from '../../src/store/pool.ts';
import { acceptsConnections } from './accepts-connections.ts';
import { findProgram } from './programs.ts';
import { until } from './until.ts';

/** A PostgreSQL server of Debian, which is older than the embedded one. */
export interface DebianServer {
  /** Of the superuser. */
  url: string;
  /** Runs a statement as the superuser. */
  run: (statement: string) => Promise<void>;
  /**
   * Creates a role and an empty database of its own.
   *
   * @returns its address
   */
  createDatabase: (owner: string, name: string) => Promise<string>;
  /** Runs a program of this version, such as pg_dump; returns its output. */
  program: (name: string, ...args: string[]) => string;
  /** Stops it, calls a function with its data directory and the options of its user, and starts it again on the same port. */
  whileStopped: (change: (database: string, bin: string, user: object) => void) => Promise<void>;
  stop: () => Promise<void>;
}

export async function startDebianPostgres(): Promise<DebianServer> {
  const bin = dirname(realpathSync(findProgram('postgresql')));
  const place = findPlace(mkdtempSync(join(tmpdir(), 'receiver-debian-')));
  const cluster = { database: join(place.home, 'database'), password: randomBytes(8).toString('hex') };
  const passwordFile = join(place.home, 'password');
  writeFileSync(passwordFile, cluster.password);
  // initdb and pg_upgrade write there.
  if (place.user)
    for (const path of [place.home, passwordFile]) chownSync(path, place.user.uid, place.user.gid);
  const options = [
    '-U',
    'receiver',
    `--pwfile=${passwordFile}`,
    '-A',
    'scram-sha-256',
    '-E',
    'UTF8',
    '--locale=C',
  ];
  execFileSync(join(bin, 'initdb'), ['-D', cluster.database, ...options], {
    ...place.user,
    cwd: place.home,
    stdio: 'pipe',
  });
  const port = await freePort();
  const start = () => spawnServer(place, bin, cluster.database, port, ['fsync=off']);
  let server = start();
  const url = `postgresql://receiver:${cluster.password}@127.0.0.1:${port}/postgres`;
  await until(() => acceptsConnections(url));
  const run = (statement: string) => withClient(url, async (client) => void (await client.query(statement)));
  return {
    url,
    run,
    createDatabase: async (owner, name) => {
      await run(
        `do $$ begin create role ${owner} login password '${owner}'; exception when duplicate_object then end $$`,
      );
      await run(`create database ${name} owner ${owner} encoding 'UTF8' template template0`);
      return `postgresql://${owner}:${owner}@127.0.0.1:${port}/${name}`;
    },
    program: (name, ...args) =>
      execFileSync(join(bin, name), args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
    whileStopped: async (change) => {
      await server.stop();
      change(cluster.database, bin, { ...place.user, cwd: place.home, stdio: 'pipe' });
      server = start();
      await until(() => acceptsConnections(url));
    },
    stop: async () => {
      await server.stop();
      await rm(place.home, { recursive: true, force: true });
    },
  };
}
