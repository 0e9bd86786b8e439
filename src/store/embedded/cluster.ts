import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeOnce } from '../../write-once.ts';
import type { Place } from './place.ts';

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
  if (!existsSync(database)) {
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
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', end);
    }
    try {
      renameSync(draft, database);
    } catch (error) {
      if (!existsSync(database)) throw error;
      rmSync(draft, { recursive: true });
    }
  }
  return { database, password: readFileSync(passwordFile, 'utf8').trim() };
}
