import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { syncFolder } from '../../durable-files.ts';

export interface ServerUser {
  uid: number;
  gid: number;
}

/** The folder of the embedded server, and the user that it runs as where that is not the current one. */
export interface Place {
  home: string;
  user: ServerUser | undefined;
}

const elsewhere = '/var/lib/webhook-receiver';

/**
 * Finds a folder for the embedded server.
 *
 * An ordinary user's server has its files in DATA_DIR and runs as that user. PostgreSQL refuses to run as root, so
 * root's server runs as `postgres` or `nobody`. Where that user has no access to DATA_DIR, as below /root, the files are
 * under /var/lib/webhook-receiver and DATA_DIR contains a link to them.
 */
export function findPlace(dataDir: string): Place {
  const folder = resolve(dataDir);
  if (mkdirSync(folder, { recursive: true })) syncFolder(dirname(folder));
  if (process.getuid?.() !== 0) return { home: folder, user: undefined };

  const { uid, gid } = statSync(folder);
  const user = uid === 0 ? serverUser() : { uid, gid };
  if (canEnter(user, dirname(folder))) {
    chownSync(folder, user.uid, user.gid);
    return { home: folder, user };
  }
  const home = provideLink(join(folder, 'elsewhere'));
  if (mkdirSync(home, { recursive: true })) syncFolder(dirname(home));
  chownSync(home, user.uid, user.gid);
  bringBackup(folder, home);
  return { home, user };
}

/** Moves a backup that was put in place of DATA_DIR to where the server can read it. The database comes last: it makes the rest valid. */
function bringBackup(folder: string, home: string): void {
  if (existsSync(join(home, 'database'))) return;
  for (const name of ['password', 'admin-password', 'database']) {
    const [from, to] = [join(folder, name), join(home, name)];
    if (!existsSync(from)) continue;
    cpSync(from, `${to}.draft`, { recursive: true });
    renameSync(`${to}.draft`, to);
    rmSync(from, { recursive: true });
  }
}

/** Whether this DATA_DIR has an embedded database. Creates nothing. */
export function hasDatabase(dataDir: string): boolean {
  return findHome(dataDir) !== undefined;
}

/** The folder of a DATA_DIR's embedded server; undefined where there is no database yet. Creates nothing. */
export function findHome(dataDir: string): string | undefined {
  const folders = [dataDir, join(dataDir, 'elsewhere')];
  return folders.find((folder) => existsSync(join(folder, 'database')));
}

/** The target of a link; a new link gets a target of a new name. */
function provideLink(link: string): string {
  const name = `${basename(dirname(dirname(link)))}-${randomBytes(4).toString('hex')}`;
  try {
    symlinkSync(join(elsewhere, name), link);
    syncFolder(dirname(link));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readlinkSync(link);
}

function serverUser(): ServerUser {
  for (const name of ['postgres', 'nobody']) {
    try {
      const readId = (flag: string) =>
        Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: readId('-u'), gid: readId('-g') };
    } catch {
      // No such user: try the next one.
    }
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and this machine has neither a user postgres nor nobody. ' +
      'Run the service as an ordinary user, or set DATABASE_URL.',
  );
}

function canEnter(user: ServerUser, folder: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$0"', folder], { ...user, cwd: '/' }).status === 0;
}
