import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import type { Config } from '../config/config.ts';

const timeoutMs = 1_000;

type Address = Pick<Config, 'host' | 'port'>;

/** Raised if the receiver cannot listen; the message names the variable to change. */
export class PortUnavailable extends Error {
  constructor({ host, port }: Address, cause: NodeJS.ErrnoException) {
    const reasons: Record<string, string> = {
      EADDRINUSE: `PORT ${port} of ${host} is in use: stop the program that listens there, or set another PORT`,
      EACCES: `PORT ${port} needs privileges that this user does not have: set PORT to 1024 or more`,
    };
    const reason = reasons[cause.code ?? ''] ?? `HOST ${host} is not an address of this machine`;
    super(reason, { cause });
    this.name = 'PortUnavailable';
  }
}

/**
 * Reserves the port of a service with an embedded database before anything is created, so that a second start in the
 * same folder changes nothing; until the receiver is ready, connections are accepted and closed. Any other database may
 * have several receivers, so the port is only checked.
 *
 * @returns the listening socket, which an HTTP server's `listen` accepts; it does not keep the process alive
 * @throws PortUnavailable
 */
export async function preparePort(
  config: Address & Pick<Config, 'databaseUrl'>,
): Promise<Server | undefined> {
  if (config.databaseUrl) return requireFree(config);
  const server = createServer((socket) => socket.destroy()).unref();
  await listening(server.listen(config.port, config.host), config);
  return server;
}

/**
 * Checks that no process listens, without reserving the port: while one of several receivers starts, its connections have
 * to be refused, so that a proxy tries another receiver.
 *
 * @throws PortUnavailable
 */
async function requireFree(config: Address): Promise<undefined> {
  if (config.port === 0) return;
  const socket = connect({ host: config.host, port: config.port, timeout: timeoutMs });
  const isTaken = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    // Other errors of the address are reported when the receiver listens.
    for (const event of ['timeout', 'error']) socket.once(event, () => resolve(false));
  });
  socket.destroy();
  if (isTaken) throw new PortUnavailable(config, Object.assign(new Error('in use'), { code: 'EADDRINUSE' }));
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
