import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Place } from './place.ts';

/** A folder that initdb made, and the password of its owner, `receiver`. */
export interface Cluster {
  database: string;
  password: string;
}

/**
 * Makes the database folder where there is none yet. It is made beside its place and then renamed, so that
 * an interrupted start leaves nothing half made, and of two starts at once one wins.
 *
 * @param signal ends initdb; this returns when it is gone
 * @throws the signal's reason, or Error with what initdb says
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

function writeOnce(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
