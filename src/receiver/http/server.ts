import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, Server as Listener } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Express, Request, Response, Router } from 'express';
import type { ErrorStatus } from '../../common/http-statuses.ts';
import type { Config } from '../../config/config.ts';
import { HostMissing } from './errors.ts';
import { problemOf, problemType, sendProblem } from './responses.ts';

interface ListenOptions {
  /** The port, if it was reserved before. */
  reserved?: Listener | undefined;
  /** How long requests in flight may take during a stop. */
  stopTimeoutMs?: number | undefined;
}

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

// Closing a socket with unread bytes resets the connection, and the sender would lose the response.
const lingerMs = 1_000;

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
    requireHostHeader: false,
  });
  server.maxConnections = limits.connections;
  // Node's limit of 2,000 headers drops those that a proxy appends.
  server.maxHeadersCount = 0;
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  server.on('request', (req, res) => {
    if (stopping) res.shouldKeepAlive = false;
    if (req.headers.host === undefined && req.httpVersion === '1.1') sendProblem(res, new HostMissing());
    // The router reads nothing that only Express's own requests have.
    else
      callbacks(req as Request, res as Response, (error) =>
        error ? sendProblem(res, error) : app(req, res),
      );
  });
  server.on('clientError', respondToBrokenRequest);
  if (reserved) server.listen(reserved);
  else server.listen(config.port, config.host);
  await once(server, 'listening').catch((error) => {
    throw new PortUnavailable(config, error);
  });
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

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

const statusOfCode: Record<string, ErrorStatus> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/**
 * Responds to bytes that Node could not read as a request, and closes the connection: by force in the end, because
 * a sender that neither reads nor closes would keep it open.
 */
function respondToBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const problem = problemOf(statusOfCode[error.code ?? ''] ?? 400);
  const body = JSON.stringify(problem);
  socket.end(
    `HTTP/1.1 ${problem.status} ${problem.title}\r\nContent-Type: ${problemType}\r\nConnection: close\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
  const lingering = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(lingering));
}
