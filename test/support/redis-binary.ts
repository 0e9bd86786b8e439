import { findOnPath, installWithApt, mayInstall } from './apt.ts';

/**
 * The path of the Redis server's program.
 *
 * @param install installs it where it is missing and this process may install packages
 * @throws Error that says what to install
 */
export function findRedisServer(install = () => installWithApt('redis-server')): string {
  const find = () => findOnPath('redis-server', 'valkey-server');
  if (!find() && mayInstall()) install();
  const found = find();
  if (!found) throw new Error('The tests need Redis: install redis-server or valkey-server, on the PATH.');
  return found;
}
