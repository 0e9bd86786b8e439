import { findOnPath, installWithApt, mayInstall } from './apt.ts';

/**
 * The path of a Redis server's program.
 *
 * @param install gets one where there is none, called as root of a Debian only
 * @throws Error with one line that says what to install
 */
export function findRedisServer(install = () => installWithApt('redis-server')): string {
  const find = () => findOnPath('redis-server', 'valkey-server');
  if (!find() && mayInstall()) install();
  const found = find();
  if (!found) throw new Error('The tests need Redis: install redis-server or valkey-server, on the PATH.');
  return found;
}
