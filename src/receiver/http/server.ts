import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createListener, Server as Listener } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Express, Request, Response, Router } from 'express';
import type { Config } from '../../config/config.ts';
import { sendProblem } from './responses.ts';

interface ListenOptions {
  /** The port, if it was reserved before. */
  reserved?: Listener | undefined;
  /** How long requests in flight may take during a stop. */
  stopTimeoutMs?: number | undefined;
}

/** For a process that may listen already. */
const connectMs = 1_000;

type Address = Pick<Config, 'host' | 'port'>;

/** Raised if the receiver cannot listen; the message names the variable to change. */
export class PortUnavailable extends Error {
  constructor({ host, port }: Address, cause: NodeJS.ErrnoException) {
    const reasons: Record<string, string> = {
      EADDRINUSE: `PORT ${port} of ${host} is in use: stop the program that listens there, or set another PORT`,
      EACCES: `PORT ${port} needs privileges that this user does not have: set PORT to 1024 or more`,
    };
    super(reasons[cause.code ?? ''] ?? `HOST ${host} is not an address of this machine`, { cause });
    this.name = 'PortUnavailable';
  }
}

/**
 * Serves the registered paths, and the app at all others.
 *
 * A stop refuses new connections at once; each response closes its connection, and idle connections are closed only after
 * `drainMs`, so that a request that is on its way is still handled.
 *
 * @throws PortUnavailable
 */
export async function listen(
  callbacks: Router,
  app: Express,
  config: Address & Pick<Config, 'drainMs' | 'limits'>,
  { reserved, stopTimeoutMs = 10_000 }: ListenOptions = {},
): Promise<{ url: string; stop: () => Promise<void> }> {
  const { drainMs, limits } = config;
  let stopping: Promise<void> | undefined;
  const server = createServer({
    keepAliveTimeout: limits.keepAliveMs,
    headersTimeout: limits.requestMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: Math.min(limits.requestMs, 1_000),
  });
  server.maxConnections = limits.connections;
  // Node's limit of 2,000 headers drops those that a proxy appends.
  server.maxHeadersCount = 0;
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  server.on('request', (req, res) => {
    if (stopping) res.shouldKeepAlive = false;
    // The router reads nothing that only Express's own requests have.
    callbacks(req as Request, res as Response, (error) => (error ? sendProblem(res, error) : app(req, res)));
  });
  if (reserved) server.listen(reserved);
  else server.listen(config.port, config.host);
  await listening(server, config);
  server.ref();

  const close = async () => {
    const closed = once(server, 'close');
    // The HTTP server's own close would also cut connections on which a request is about to arrive.
    Listener.prototype.close.call(server);
    await Promise.race([closed, sleep(drainMs, undefined, { ref: false })]);
    const closing = setInterval(() => server.closeIdleConnections(), 20);
    const giveUp = setTimeout(() => server.closeAllConnections(), stopTimeoutMs);
    await closed;
    clearInterval(closing);
    clearTimeout(giveUp);
  };
  const stop = () => {
    stopping ??= close();
    return stopping;
  };
  return { url: urlOf(server.address() as AddressInfo), stop };
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
): Promise<Listener | undefined> {
  if (config.databaseUrl) return requireFree(config);
  const server = createListener((socket) => socket.destroy()).unref();
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
  const socket = connect({ host: config.host, port: config.port, timeout: connectMs });
  const isTaken = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    // Other errors of the address are reported when the receiver listens.
    for (const event of ['timeout', 'error']) socket.once(event, () => resolve(false));
  });
  socket.destroy();
  if (isTaken) throw new PortUnavailable(config, Object.assign(new Error('in use'), { code: 'EADDRINUSE' }));
}

async function listening(server: Listener, config: Address): Promise<void> {
  await once(server, 'listening').catch((error) => {
    throw new PortUnavailable(config, error);
  });
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
