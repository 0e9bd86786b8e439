import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * The path of a Redis server's program.
 *
 * @param install gets one where there is none, called as root of a Debian only
 * @throws Error with one line that says what to install
 */
export function findRedisServer(install: () => void): string {
  const mayInstall = process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
  if (!onPath() && mayInstall) install();
  const found = onPath();
  if (!found) throw new Error('The tests need Redis: install redis-server or valkey-server, on the PATH.');
  return found;
}

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return ['redis-server', 'valkey-server']
    .flatMap((program) => folders.map((folder) => join(folder, program)))
    .find((program) => existsSync(program));
}
