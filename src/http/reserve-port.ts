import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { Config } from '../config.ts';

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
 * Until the service is ready, who connects is turned away, as where nobody listens.
 *
 * @returns what an HTTP server's `listen` takes over; it keeps no process alive
 * @throws PortUnavailable
 */
export async function reservePort(config: Pick<Config, 'host' | 'port'>): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).unref();
  try {
    await once(server.listen(config.port, config.host), 'listening');
    return server;
  } catch (error) {
    throw new PortUnavailable(config, error as NodeJS.ErrnoException);
  }
}
