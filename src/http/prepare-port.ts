import { once } from 'node:events';
import { lstatSync, rmSync } from 'node:fs';
import { connect, createServer, type NetConnectOpts, type Server } from 'node:net';
import type { Config } from '../config/config.ts';

const timeoutMs = 1_000;

type Address = Pick<Config, 'host' | 'port' | 'socket'>;

/** Raised if the receiver cannot listen; the message names the variable to change. */
export class PortUnavailable extends Error {
  constructor({ host, port, socket }: Address, cause: NodeJS.ErrnoException) {
    const reasons: Record<string, string> = {
      EADDRINUSE: `PORT ${port} of ${host} is in use: stop the program that listens there, or set another PORT`,
      EACCES: `PORT ${port} needs privileges that this user does not have: set PORT to 1024 or more`,
    };
    const ofSocket: Record<string, string> = {
      EADDRINUSE: `SOCKET ${socket} is in use, by a program that listens there or as another file: set another SOCKET`,
      EACCES: `SOCKET ${socket} cannot be created: its folder must exist, and this user must be allowed to write there`,
    };
    const reason = socket
      ? (ofSocket[cause.code ?? ''] ?? `SOCKET ${socket} cannot be used: ${cause.message}`)
      : (reasons[cause.code ?? ''] ?? `HOST ${host} is not an address of this machine`);
    super(reason, { cause });
    this.name = 'PortUnavailable';
  }
}

/**
 * Reserves the port of a service with an embedded database before anything is created, so that a second start in the
 * same folder changes nothing; until the receiver is ready, connections are accepted and closed. Any other database may
 * have several receivers, so the port is only checked; so is a socket file.
 *
 * @returns the listening socket, which an HTTP server's `listen` accepts; it does not keep the process alive
 * @throws PortUnavailable
 */
export async function preparePort(
  config: Address & Pick<Config, 'databaseUrl'>,
): Promise<Server | undefined> {
  if (config.socket || config.databaseUrl) return requireFree(config);
  const server = createServer((socket) => socket.destroy()).unref();
  await listening(server.listen(config.port, config.host), config);
  return server;
}

/**
 * Checks that no process listens, without reserving the port: while one of several receivers starts, its connections have
 * to be refused, so that a proxy tries another receiver. A socket file that a killed process has left is removed.
 *
 * @throws PortUnavailable
 */
async function requireFree(config: Address): Promise<undefined> {
  const { host, port, socket: path } = config;
  if (!path && port === 0) return;
  const result = await tryToConnect(path ? { path } : { host, port });
  // Other errors of the address are reported when the receiver listens.
  if (result === 'connected') {
    throw new PortUnavailable(config, Object.assign(new Error('in use'), { code: 'EADDRINUSE' }));
  }
  if (path && result === 'ECONNREFUSED' && lstatSync(path, { throwIfNoEntry: false })?.isSocket()) {
    rmSync(path, { force: true });
  }
}

/** @returns `connected`, or why not */
async function tryToConnect(to: NetConnectOpts): Promise<string | undefined> {
  const socket = connect({ ...to, timeout: timeoutMs });
  const result = await new Promise<string | undefined>((resolve) => {
    socket.once('connect', () => resolve('connected'));
    socket.once('timeout', () => resolve('timeout'));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
  });
  socket.destroy();
  return result;
}

/**
 * Resolves once a server listens.
 *
 * @throws PortUnavailable
 */
export async function listening(server: Server, config: Address): Promise<void> {
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new PortUnavailable(config, error as NodeJS.ErrnoException);
  }
}
