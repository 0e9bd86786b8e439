import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import type { Config } from '../config.ts';

const timeoutMs = 1_000;

/** Raised where the service cannot listen; the message names the variable to change. */
export class PortUnavailable extends Error {
  constructor({ host, port }: Pick<Config, 'host' | 'port'>, cause: NodeJS.ErrnoException) {
    const reasons: Record<string, string> = {
      EADDRINUSE: `PORT ${port} of ${host} is in use: end the program that listens there, or set another PORT`,
      EACCES: `PORT ${port} needs rights that this user does not have: set PORT to 1024 or more`,
    };
    super(reasons[cause.code ?? ''] ?? `HOST ${host} is no address of this machine`, { cause });
    this.name = 'PortUnavailable';
  }
}

/**
 * Takes the port before anything is created, so that a second start in the same folder ends without a trace.
 * Until the service is ready, connections are accepted and closed.
 *
 * @returns what an HTTP server's `listen` takes over; it keeps no process alive
 * @throws PortUnavailable
 */
export async function reservePort(config: Pick<Config, 'host' | 'port'>): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).unref();
  await listening(server.listen(config.port, config.host), config);
  return server;
}

/** The embedded database has one service. On another, receivers are restarted in turn, and the others take over. */
export async function preparePort(
  config: Pick<Config, 'host' | 'port' | 'databaseUrl'>,
): Promise<Server | undefined> {
  if (!config.databaseUrl) return reservePort(config);
  await requireFreePort(config);
  return undefined;
}

/**
 * Looks whether somebody listens at the port, and does not take it: while one of several receivers starts,
 * connections to it have to be refused, so that a proxy tries another.
 *
 * @throws PortUnavailable
 */
export async function requireFreePort(config: Pick<Config, 'host' | 'port'>): Promise<void> {
  if (config.port === 0) return;
  const socket = connect({ host: config.host, port: config.port, timeout: timeoutMs });
  // Whatever else is wrong with the address is told when the service listens.
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
