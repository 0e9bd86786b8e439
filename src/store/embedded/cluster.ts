import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeOnce } from '../../write-once.ts';
import { withClient } from '../pool.ts';
import type { Place, ServerUser } from './place.ts';

/** A database cluster. */
export interface Cluster {
  /** The data directory. */
  database: string;
  /** Of the role `receiver`, which owns everything. */
  password: string;
}

/**
 * Creates the data directory unless it exists. initdb writes to a temporary folder that is then renamed, so that an
 * interrupted start leaves no partial database, and of two starts at once one wins.
 *
 * @param signal ends initdb; this returns after its exit
 * @throws the signal's reason, or initdb's error
 */
export async function provideCluster(
  { home, user }: Place,
  bin: string,
  signal?: AbortSignal,
): Promise<Cluster> {
  const database = join(home, 'database');
  const passwordFile = join(home, 'password');
  writeOnce(passwordFile, randomBytes(24).toString('hex'));
  if (user) chownSync(passwordFile, user.uid, user.gid);
  if (existsSync(database)) {
    claim(database, user);
  } else {
    const draft = `${database}.${process.pid}`;
    rmSync(draft, { recursive: true, force: true });
    const options = ['--username=receiver', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
    const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
    signal?.throwIfAborted();
    const running = promisify(execFile)(join(bin, 'initdb'), [`--pgdata=${draft}`, ...options, ...locale], {
      ...user,
      cwd: home,
    });
    const end = () => running.child.kill();
    signal?.addEventListener('abort', end);
    try {
      await running;
      renameSync(draft, database);
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      signal?.throwIfAborted();
      if (!existsSync(database)) throw error;
    } finally {
      signal?.removeEventListener('abort', end);
    }
  }
  return { database, password: readFileSync(passwordFile, 'utf8').trim() };
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
