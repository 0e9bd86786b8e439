import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, fchmodSync, fchownSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readOrCreate, replaceFile, syncFolder } from '../../common/durable-files.ts';
import { ownPath } from '../../common/trusted-files.ts';
import { withoutClearPassword } from '../client.ts';
import { removeTree, withFolder } from './folders.ts';
import type { Lock } from './lock.ts';
import type { Place, ServerUser } from './place.ts';
import { administrator, adminPasswordFile } from './roles.ts';
import { runProgram } from './run-program.ts';

/** A database cluster. */
export type Cluster = Awaited<ReturnType<typeof provideCluster>>;

/**
 * Creates the data directory unless it exists. initdb writes to a temporary folder that is then renamed, so that an
 * interrupted start leaves no partial database.
 *
 * @param lock that of the folder
 * @param signal ends initdb; this returns after its exit
 * @returns the data directory, and the passwords of the role `receiver`, which owns the database, and of the superuser
 * @throws the signal's reason, or initdb's error
 */
export async function provideCluster(place: Place, bin: string, lock?: Lock, signal?: AbortSignal) {
  const { home, user } = place;
  const database = join(home, 'database');
  const file = adminPasswordFile(home);
  const [password, adminPassword] = [passwordFile(home), file].map(
    (each) => readOrCreate(each, newPassword).content,
  ) as [string, string];
  if (existsSync(database)) {
    claim(database, user);
  } else {
    const draft = `${database}.${process.pid}`;
    removeTree(draft, place);
    if (user) provideFolder(draft, user);
    const options = [
      `--pgdata=${draft}`,
      `--username=${administrator}`,
      `--pwfile=${user ? '/dev/stdin' : file}`,
    ];
    const checks = ['--auth=scram-sha-256', '--data-checksums'];
    const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
    try {
      const initdb = [join(bin, 'initdb'), ...options, ...checks, ...locale];
      // The server's user reads no file of root's. initdb opens its input by name, which a socket, as Node makes one, has not.
      const piped = ['/bin/sh', '-c', 'read -r word; exec "$@" <<.\n$word\n.\n', 'sh', ...initdb];
      const command = (user ? piped : initdb) as [string, ...string[]];
      await runProgram(command, place, lock, { input: user ? `${adminPassword}\n` : '', signal });
      renameSync(draft, database);
      syncFolder(home);
    } catch (error) {
      removeTree(draft, place);
      throw error;
    }
  }
  return { database, password, adminPassword };
}

const passwordFile = (home: string) => join(home, 'password');
const newPassword = () => randomBytes(24).toString('hex');

/**
 * Gives the superuser its name and a new password where that of the file is wrong: after a power cut, in a copy without the
 * file, or where a version has made the cluster whose superuser was the role `receiver`. The server is stopped; PostgreSQL's
 * single-user mode asks for no password, and listens nowhere.
 */
export async function resetAdministrator(
  place: Place,
  bin: string,
  cluster: Cluster,
  lock: Lock,
): Promise<void> {
  cluster.adminPassword = newPassword();
  replaceFile(adminPasswordFile(place.home), cluster.adminPassword);
  // The user of a session cannot be renamed. The first superuser has this oid.
  const input = `update pg_authid set rolname = '${administrator}' where oid = 10
alter role ${administrator} password '${cluster.adminPassword}'
`;
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

/** The address of the role `receiver`. */
export function urlOf({ password }: Cluster, port: number): string {
  return withoutClearPassword(`postgresql://receiver:${password}@127.0.0.1:${port}/receiver`);
}

/** The address of the superuser. */
export function adminUrlOf({ adminPassword }: Cluster, port: number, database: string): string {
  return withoutClearPassword(`postgresql://${administrator}:${adminPassword}@127.0.0.1:${port}/${database}`);
}
