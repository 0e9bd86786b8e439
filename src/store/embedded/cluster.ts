import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readOrCreate, replaceFile, syncFolder } from '../../durable-files.ts';
import { withClient } from '../pool.ts';
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
  if (user) chownSync(file, user.uid, user.gid);
  if (existsSync(database)) {
    claim(database, user);
  } else {
    const draft = `${database}.${process.pid}`;
    rmSync(draft, { recursive: true, force: true });
    const options = [`--pgdata=${draft}`, '--username=receiver', `--pwfile=${file}`];
    const checks = ['--auth=scram-sha-256', '--data-checksums'];
    const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
    try {
      await runProgram([join(bin, 'initdb'), ...options, ...checks, ...locale], place, lock, { signal });
      renameSync(draft, database);
      syncFolder(home);
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
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
  if (place.user) chownSync(passwordFile(place.home), place.user.uid, place.user.gid);
  const input = `alter role receiver password '${cluster.password}'\n`;
  await runProgram([join(bin, 'postgres'), '--single', '-D', cluster.database, 'postgres'], place, lock, {
    input,
  });
}

/** Gives a restored copy, which may have come over another machine or disk, the owner and the mode that PostgreSQL requires. */
function claim(database: string, user: ServerUser | undefined): void {
  if (existsSync(join(database, 'postmaster.pid'))) return;
  const { uid, mode } = statSync(database);
  if (user && uid !== user.uid) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, database]);
  if (mode & 0o027) chmodSync(database, 0o700);
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
