import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import type { Config } from '../config.ts';

const timeoutMs = 1_000;

/** Raised if the service cannot listen; the message names the variable to change. */
export class PortUnavailable extends Error {
  constructor({ host, port }: Pick<Config, 'host' | 'port'>, cause: NodeJS.ErrnoException) {
    const reasons: Record<string, string> = {
      EADDRINUSE: `PORT ${port} of ${host} is in use: stop the program that listens there, or set another PORT`,
      EACCES: `PORT ${port} needs privileges that this user does not have: set PORT to 1024 or more`,
    };
    super(reasons[cause.code ?? ''] ?? `HOST ${host} is not an address of this machine`, { cause });
    this.name = 'PortUnavailable';
  }
}

/**
 * Reserves the port before anything is created, so that a second start in the same folder changes nothing.
 * Until the service is ready, connections are accepted and closed.
 *
 * @returns the listening socket, which an HTTP server's `listen` accepts; it does not keep the process alive
 * @throws PortUnavailable
 */
export async function reservePort(config: Pick<Config, 'host' | 'port'>): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).unref();
  await listening(server.listen(config.port, config.host), config);
  return server;
}

/**
 * The embedded database has a single service, which reserves its port. On another database, receivers restart one
 * after the other while the rest accept the connections, so the port is only checked.
 */
export async function preparePort(
  config: Pick<Config, 'host' | 'port' | 'databaseUrl'>,
): Promise<Server | undefined> {
  if (!config.databaseUrl) return reservePort(config);
  await requireFreePort(config);
  return undefined;
}

/**
 * Checks that the port is free without reserving it: while one of several receivers starts, its connections have to
 * be refused, so that a proxy tries another receiver.
 *
 * @throws PortUnavailable
 */
export async function requireFreePort(config: Pick<Config, 'host' | 'port'>): Promise<void> {
  if (config.port === 0) return;
  const socket = connect({ host: config.host, port: config.port, timeout: timeoutMs });
  // Other errors of the address are reported when the service listens.
  const isTaken = await Promise.race([
    once(socket, 'connect').then(
      () => true,
      () => false,
    ),
    once(socket, 'timeout').then(
      () => false,
      () => false,
    ),
  ]);
  socket.destroy();
  if (isTaken) throw new PortUnavailable(config, Object.assign(new Error('in use'), { code: 'EADDRINUSE' }));
}

/**
 * Resolves once a server listens.
 *
 * @throws PortUnavailable
 */
export async function listening(server: Server, config: Pick<Config, 'host' | 'port'>): Promise<void> {
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new PortUnavailable(config, error as NodeJS.ErrnoException);
  }
}
