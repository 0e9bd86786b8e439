import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { statfs } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { syncFolder } from '../../common/durable-files.ts';
import { isRoot, ownPath } from '../../common/trusted-files.ts';
import { removeTree, withFolder } from './folders.ts';

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

/** Files of DATA_DIR that root writes, and that earlier releases wrote in a folder of the server's user. */
const written = [
  'password',
  'admin-password',
  'admin-token',
  'owner',
  'port',
  'connection-url',
  'moved',
  'postgresql.log',
];

/**
 * Finds a folder for the embedded server.
 *
 * An ordinary user's server has its files in DATA_DIR and runs as that user; also where root starts it there. PostgreSQL
 * refuses to run as root, so root's server runs as `postgres` or `nobody`, who may write nothing but the folder `database`.
 * Where that user has no access to DATA_DIR, as below /root, the files are under /var/lib/webhook-receiver and DATA_DIR
 * contains a link to them.
 *
 * @throws Error where the folder is shared, or a link in it may be another user's
 */
export function findPlace(dataDir: string): Place {
  const given = resolve(dataDir);
  if (mkdirSync(given, { recursive: true })) syncFolder(dirname(given));
  if (!isRoot()) return { home: given, user: undefined };

  const folder = realpathSync(given);
  const { uid, gid } = statSync(folder);
  const own = serverUser();
  const isOthers = uid !== 0 && uid !== own?.uid;
  const user = isOthers ? { uid, gid } : own;
  if (!user) {
    throw new Error(
      'PostgreSQL refuses to run as root, and this machine has neither a user postgres nor nobody. ' +
        'Run the receiver as an ordinary user, or set DATABASE_URL.',
    );
  }
  if (canEnter(user, dirname(folder))) {
    if (!isOthers) claim(folder, user);
    ownPath(join(folder, 'database'));
    return { home: folder, user };
  }
  const home = provideLink(join(folder, 'elsewhere'));
  if (mkdirSync(home, { recursive: true })) syncFolder(dirname(home));
  claim(home, user);
  ownPath(join(home, 'database'));
  bringBackup(folder, home, user);
  return { home, user };
}

/** Makes a folder root's. The server's user, whose earlier releases made it, may only pass through it. */
function claim(folder: string, user: ServerUser): void {
  withFolder(folder, (fd) => {
    const { uid, gid, mode } = fstatSync(fd);
    if (mode & 0o1000)
      throw new Error(`${folder} is shared by several users. Set DATA_DIR to a folder of its own`);
    const permitted = (mode & 0o755) | 0o710;
    if (uid !== 0 || gid !== user.gid) fchownSync(fd, 0, user.gid);
    if ((mode & 0o7777) !== permitted) fchmodSync(fd, permitted);
    if (uid !== 0) for (const name of written) takeOver(join(folder, name));
  });
}

/** Makes a file root's, in a folder in which nobody else can rename any more. What may be a name of another file is removed. */
function takeOver(file: string): void {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() && stats.nlink === 1) lchownSync(file, 0, 0);
  else if (stats && !stats.isDirectory()) rmSync(file);
}

/** Moves a backup that was put in place of DATA_DIR to where the server can read it. The database comes last: it makes the rest valid. */
function bringBackup(folder: string, home: string, user: ServerUser): void {
  if (existsSync(join(home, 'database'))) return;
  for (const name of ['password', 'admin-password', 'database']) {
    const [from, to] = [join(folder, name), join(home, name)];
    if (!existsSync(from)) continue;
    removeTree(`${to}.draft`, { user });
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

/** The folder of the embedded database, or the nearest one above that exists, and the free bytes of its disk. */
export async function freeDisk(dataDir: string): Promise<{ folder: string; bytes: number }> {
  let folder = resolve(findHome(dataDir) ?? dataDir);
  while (!existsSync(folder)) folder = dirname(folder);
  const { bavail, bsize } = await statfs(folder);
  return { folder, bytes: bavail * bsize };
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
  if (lstatSync(link).uid !== 0) throw new Error(`${link} is not root's. Delete it and start again`);
  return readlinkSync(link);
}

function serverUser(): ServerUser | undefined {
  for (const name of ['postgres', 'nobody']) {
    try {
      const readId = (flag: string) =>
        Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: readId('-u'), gid: readId('-g') };
    } catch {
      // No such user: try the next one.
    }
  }
  return undefined;
}

function canEnter(user: ServerUser, folder: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$0"', folder], { ...user, cwd: '/' }).status === 0;
}
