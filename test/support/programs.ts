import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The programs that tests run, each with its names, the first of which is also the name of its Debian package. */
const programs = {
  chromium: ['chromium', 'chromium-browser', 'google-chrome'],
  'redis-server': ['redis-server', 'valkey-server'],
  pgbouncer: ['pgbouncer'],
} as const;

type Program = keyof typeof programs;

/** The path of a program. A variable such as `TEST_REDIS_SERVER` or `TEST_CHROMIUM` may name another. */
export function findProgram(program: Program): string {
  const variable = `TEST_${program.toUpperCase().replaceAll('-', '_')}`;
  const found = process.env[variable] ?? onPath(program);
  if (!found) {
    throw new Error(`The tests need ${program}: install its package, or name the program in ${variable}.`);
  }
  return found;
}

/** Installs the missing ones of these programs where this process may: as root on Debian. */
export function installMissing(wanted: readonly Program[]): void {
  const missing = wanted.filter((program) => !onPath(program));
  const mayInstall = process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
  if (missing.length === 0 || !mayInstall) return;
  const options = {
    stdio: 'ignore',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  } as const;
  execFileSync('apt-get', ['update', '-qq'], options);
  execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], options);
}

function onPath(program: Program): string | undefined {
  // Debian's servers are in sbin.
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return programs[program]
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => existsSync(path));
}
