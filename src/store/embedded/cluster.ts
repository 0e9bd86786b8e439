import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readOrCreate, replaceFile, syncFolder } from '../../durable-files.ts';
import type { Lock } from './lock.ts';
import type { Place, ServerUser } from './place.ts';
import { administrator, adminPasswordFile } from './roles.ts';
import { runProgram } from './run-program.ts';

/** A database cluster. */
export interface Cluster {
  /** The data directory. */
  database: string;
  /** Of the role `receiver`, which owns the database. */
  password: string;
  /** Of the superuser. */
  adminPassword: string;
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
  const file = adminPasswordFile(home);
  const [password, adminPassword] = [passwordFile(home), file].map(
    (each) => readOrCreate(each, newPassword).content,
  ) as [string, string];
  if (user) for (const each of [passwordFile(home), file]) chownSync(each, user.uid, user.gid);
  if (existsSync(database)) {
    claim(database, user);
  } else {
    const draft = `${database}.${process.pid}`;
    rmSync(draft, { recursive: true, force: true });
    const options = [`--pgdata=${draft}`, `--username=${administrator}`, `--pwfile=${file}`];
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
  const file = adminPasswordFile(place.home);
  cluster.adminPassword = newPassword();
  replaceFile(file, cluster.adminPassword);
  if (place.user) chownSync(file, place.user.uid, place.user.gid);
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
  const { uid, mode } = statSync(database);
  if (user && uid !== user.uid) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, database]);
  if (mode & 0o027) chmodSync(database, 0o700);
}

/** The address of the role `receiver`. */
export function urlOf({ password }: Cluster, port: number): string {
  return `postgresql://receiver:${password}@127.0.0.1:${port}/receiver`;
}

/** The address of the superuser. */
export function adminUrlOf({ adminPassword }: Cluster, port: number, database: string): string {
  return `postgresql://${administrator}:${adminPassword}@127.0.0.1:${port}/${database}`;
}
