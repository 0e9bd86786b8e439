import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { basename, dirname, join } from 'node:path';

interface ServerUser {
  uid: number;
  gid: number;
}

export interface Place {
  home: string;
  /** Where the server does not run as the current user. */
  user: ServerUser | undefined;
}

const elsewhere = '/var/lib/webhook-receiver';

/** That of version 1 was DATA_DIR itself. */
export const embeddedFolder = (dataDir: string): string => join(dataDir, 'v2');

/**
 * An ordinary user's server has its files in DATA_DIR and runs as that user; also where root starts it there. PostgreSQL
 * refuses to run as root, so root's server runs as `postgres` or `nobody`, who owns nothing but the folder `database`.
 * Where that user has no access to DATA_DIR, as below /root, the files are under /var/lib/webhook-receiver and DATA_DIR
 * contains a link to them.
 */
export function findPlace(dataDir: string): Place {
  fs.mkdirSync(dataDir, { recursive: true });
  const folder = fs.realpathSync(dataDir);
  if (process.geteuid?.() !== 0) return { home: folder, user: undefined };
  const user = ownerOf(folder) ?? findServerUser();
  const canEnter = spawnSync('/bin/sh', ['-c', 'cd "$0"', dirname(folder)], { ...user, cwd: '/' });
  const home = canEnter.status === 0 ? folder : provideElsewhere(folder);
  const { uid, mode } = fs.statSync(home);
  if (uid === 0 && !(mode & 0o1000)) {
    fs.chownSync(home, 0, user.gid);
    fs.chmodSync(home, (mode & 0o755) | 0o710);
  }
  return { home, user: ownerOf(join(home, 'database')) ?? user };
}

export const hasDatabase = (folder: string): boolean =>
  ['database', 'elsewhere/database'].some((path) => fs.existsSync(join(folder, path)));

/** @returns undefined for root, and without a folder */
function ownerOf(folder: string): ServerUser | undefined {
  const stats = fs.statSync(folder, { throwIfNoEntry: false });
  return stats?.uid ? { uid: stats.uid, gid: stats.gid } : undefined;
}

/** The folder that the link in DATA_DIR names; a new link gets a target of a new name. */
function provideElsewhere(folder: string): string {
  const link = join(folder, 'elsewhere');
  const name = `${basename(dirname(folder))}-${randomBytes(4).toString('hex')}`;
  if (!fs.lstatSync(link, { throwIfNoEntry: false })) fs.symlinkSync(join(elsewhere, name), link);
  const home = fs.readlinkSync(link);
  fs.mkdirSync(home, { recursive: true });
  return home;
}

function findServerUser(): ServerUser {
  const command = 'for user in postgres nobody; do id -u $user && id -g $user && exit; done';
  const { stdout } = spawnSync('/bin/sh', ['-c', command], { encoding: 'utf8' });
  const [uid, gid] = stdout.split('\n').map(Number);
  if (uid !== undefined && gid !== undefined) return { uid, gid };
  throw new Error(
    'PostgreSQL refuses to run as root, and this machine has neither a user postgres nor nobody. ' +
      'Run the receiver as an ordinary user, or set DATABASE_URL.',
  );
}
