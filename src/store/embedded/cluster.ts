import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, fchmodSync, fchownSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readOrCreate, replaceFile, syncFolder } from '../../durable-files.ts';
import { ownPath } from '../../trusted-files.ts';
import { withClient } from '../pool.ts';
import { removeTree, withFolder } from './folders.ts';
import type { Lock } from './lock.ts';
import type { Place, ServerUser } from './place.ts';
import { runProgram } from './run-program.ts';

/** A database cluster. */
export interface Cluster {
  /** The data directory. */
  database: string;
  /** Of the role `receiver`, which owns everything. */
  password: string;
}

/**
 * Creates the data directory unless it exists. initdb writes to a temporary folder that is then renamed, so that an
 * interrupted start leaves no partial database.
 *
 * @param lock that of the folder
 * @param signal ends initdb; this returns after its exit
 * @throws the signal's reason, or initdb's error
 */
export async function provideCluster(
  place: Place,
  bin: string,
  lock?: Lock,
  signal?: AbortSignal,
): Promise<Cluster> {
  const { home, user } = place;
  const database = join(home, 'database');
  const file = passwordFile(home);
  const { content: password } = readOrCreate(file, newPassword);
  if (existsSync(database)) {
    claim(database, user);
  } else {
    const draft = `${database}.${process.pid}`;
    removeTree(draft, place);
    if (user) provideFolder(draft, user);
    const options = [`--pgdata=${draft}`, '--username=receiver', `--pwfile=${user ? '/dev/stdin' : file}`];
    const checks = ['--auth=scram-sha-256', '--data-checksums'];
    const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
    try {
      const initdb = [join(bin, 'initdb'), ...options, ...checks, ...locale];
      // The server's user reads no file of root's. initdb opens its input by name, which a socket, as Node makes one, has not.
      const piped = ['/bin/sh', '-c', 'read -r word; exec "$@" <<.\n$word\n.\n', 'sh', ...initdb];
      const command = (user ? piped : initdb) as [string, ...string[]];
      await runProgram(command, place, lock, { input: user ? `${password}\n` : '', signal });
      renameSync(draft, database);
      syncFolder(home);
    } catch (error) {
      removeTree(draft, place);
      throw error;
    }
  }
  return { database, password };
}

const passwordFile = (home: string) => join(home, 'password');
const newPassword = () => randomBytes(24).toString('hex');

/**
 * Gives the role `receiver` a new password where that of the file is wrong, as after a power cut or in a copy without the
 * file. The server is stopped; PostgreSQL's single-user mode asks for no password, and listens nowhere.
 */
export async function resetPassword(place: Place, bin: string, cluster: Cluster, lock: Lock): Promise<void> {
  cluster.password = newPassword();
  replaceFile(passwordFile(place.home), cluster.password);
  const input = `alter role receiver password '${cluster.password}'\n`;
  await runProgram([join(bin, 'postgres'), '--single', '-D', cluster.database, 'postgres'], place, lock, {
    input,
  });
}

/** Gives a restored copy, which may have come over another machine or disk, the owner and the mode that PostgreSQL requires. */
function claim(database: string, user: ServerUser | undefined): void {
  if (existsSync(join(database, 'postmaster.pid'))) return;
  const folder = ownPath(database);
  const { uid, mode } = statSync(folder);
  // Neither follows a link.
  if (user && uid !== user.uid) execFileSync('chown', ['-hR', `${user.uid}:${user.gid}`, folder]);
  if (mode & 0o027) withFolder(folder, (fd) => fchmodSync(fd, 0o700));
}

/** An empty folder of the server's user, in one that may be root's. */
function provideFolder(path: string, { uid, gid }: ServerUser): void {
  mkdirSync(path, { mode: 0o700 });
  withFolder(path, (fd) => fchownSync(fd, uid, gid));
}

export function urlOf({ password }: Cluster, port: number, database = 'receiver'): string {
  return `postgresql://receiver:${password}@127.0.0.1:${port}/${database}`;
}

/** Creates the database `receiver` unless it exists. */
export async function createDatabase(cluster: Cluster, port: number): Promise<void> {
  await withClient(urlOf(cluster, port, 'postgres'), async (client) => {
    const { rowCount } = await client.query(`select from pg_database where datname = 'receiver'`);
    if (rowCount === 0) await client.query('create database receiver');
  });
}
