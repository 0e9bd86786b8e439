import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, Server as Listener } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Express } from 'express';
import type { ErrorStatus } from '../common/http-statuses.ts';
import type { Config } from '../config/config.ts';
import { HostMissing } from '../receiver/http/errors.ts';
import type { Handler } from './callback-handler.ts';
import { listening } from './prepare-port.ts';
import { problemOf, problemType, sendProblem } from './responses.ts';

export type HttpServer = Awaited<ReturnType<typeof listen>>;

interface ListenOptions {
  /** The port, if it was reserved before. */
  reserved?: Listener | undefined;
}

// Closing a socket with unread bytes resets the connection, and the sender would lose the response.
const lingerMs = 1_000;
/** How long requests in flight may take during a stop. */
const stopTimeoutMs = 10_000;

/**
 * Serves the app. The registered paths bypass Express, whose router costs more than the rest of a callback's
 * handling; all other paths, and other spellings of a registered path, go to Express.
 *
 * A stop refuses new connections at once; each response closes its connection, and idle connections are closed only after
 * `drainMs`, so that a request that is on its way is still handled.
 *
 * @throws PortUnavailable
 */
export async function listen(
  app: Express,
  callbacks: ReadonlyMap<string, Handler>,
  config: Pick<Config, 'host' | 'port' | 'drainMs' | 'limits'>,
  { reserved }: ListenOptions,
) {
  const { drainMs, limits } = config;
  let stopping = false;
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
    if (req.headers.host === undefined && req.httpVersion === '1.1') {
      sendProblem(res, new HostMissing());
      return;
    }
    const handle = callbacks.get(req.url ?? '');
    if (handle) void handle(req, res);
    else app(req, res);
  });
  server.on('clientError', respondToBrokenRequest);
  if (reserved) server.listen(reserved);
  else server.listen(config.port, config.host);
  await listening(server, config);
  server.ref();

  /** Accepts no more connections, responds to the requests in flight, and closes all connections. */
  const stop = async () => {
    stopping = true;
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
  return {
    url: urlOf(server.address() as AddressInfo),
    connections: promisify(server.getConnections.bind(server)),
    stop,
  };
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
