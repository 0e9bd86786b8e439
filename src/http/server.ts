import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, Server as Listener, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Express } from 'express';
import type { ErrorStatus } from '../common/http-statuses.ts';
import type { Log } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import type { Handler } from './callback-handler.ts';
import { limitConnections } from './connection-limits.ts';
import { Connections, closeStalledConnections } from './connections.ts';
import { HostMissing } from './errors.ts';
import { listening } from './prepare-port.ts';
import type { RequestLog } from './request-log.ts';
import { problemOf, problemType, sendJson, sendProblem } from './responses.ts';

export type HttpServer = Awaited<ReturnType<typeof listen>>;

interface ListenOptions {
  /** The port, if it was reserved before. */
  reserved?: Listener | undefined;
  /** Writes a line for each request. */
  requests?: RequestLog | undefined;
  log: Log;
}

// Closing a socket with unread bytes resets the connection, and the sender would lose the response.
const lingerMs = 1_000;
/** The proxy connects as another user of the same group. */
const socketMode = 0o660;
/** A proxy that has asked for /readyz twice within this time will ask again. */
const checkedWithinMs = 20_000;
/** How long requests in flight may take during a stop. */
const stopTimeoutMs = 10_000;

/**
 * Serves the app. The registered paths bypass Express, whose router costs more than the rest of a callback's
 * handling; all other paths, and other spellings of a registered path, go to Express.
 *
 * A stop fails no request: each response closes its connection, and idle connections are closed only after `drainMs`,
 * so that their senders have time to leave. Where a proxy checks /readyz, the socket is closed after it got a 503 there, at
 * the latest after three times `drainMs`: some cannot send a callback to another receiver after a refused connection.
 *
 * @throws PortUnavailable
 */
export async function listen(
  app: Express,
  callbacks: ReadonlyMap<string, Handler>,
  config: Pick<Config, 'host' | 'port' | 'socket' | 'drainMs' | 'limits' | 'authentication'>,
  { reserved, requests, log }: ListenOptions,
) {
  const { drainMs, limits } = config;
  let stopping = false;
  let checks = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let onStopSeen = () => {};
  const checkEveryMs = Math.min(limits.requestMs, 1_000);
  // What Node responds to by itself escapes the limits. Its limit of 2,000 headers drops those that a proxy appends.
  const server = createServer({
    keepAliveTimeout: limits.keepAliveMs,
    headersTimeout: limits.requestMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: checkEveryMs,
    requireHostHeader: false,
  });
  server.maxHeadersCount = 0;
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  const connections = new Connections(server);
  const mayHandle = limitConnections(server, connections, callbacks, config, log);
  server.on('request', (req, res) => {
    const connection = connections.begin(req, res);
    if (!connection || !mayHandle(connection, req, res)) return;
    if (stopping) res.shouldKeepAlive = false;
    if (req.headers.host === undefined && req.httpVersion === '1.1') {
      sendProblem(res, new HostMissing());
      return;
    }
    if (req.url === '/readyz') {
      checks = [checks[1]!, performance.now()];
      if (stopping) {
        res.once('close', onStopSeen);
        return sendJson(res, 503, { status: 'stopping', parts: {} });
      }
    }
    const handle = callbacks.get(req.url ?? '');
    if (handle) void handle(req, res);
    else app(req, res);
  });
  requests?.watch(server, callbacks.keys());
  server.on('clientError', (error, socket) => {
    const status = respondToBrokenRequest(error, socket);
    if (status)
      requests?.broken(socket as Socket, status, (error as NodeJS.ErrnoException).code ?? error.name);
  });
  closeStalledConnections(server, connections, limits, checkEveryMs);
  if (reserved) server.listen(reserved);
  else if (config.socket) server.listen(config.socket);
  else server.listen(config.port, config.host);
  await listening(server, config);
  if (config.socket) chmodSync(config.socket, socketMode);
  server.ref();

  /** Tells health checks, accepts no more connections, responds to the requests in flight, and closes all connections. */
  const stop = async () => {
    const isSeen = new Promise<void>((resolve) => {
      onStopSeen = resolve;
    });
    stopping = true;
    if (performance.now() - checks[0]! < checkedWithinMs) {
      await Promise.race([
        Promise.all([isSeen, sleep(drainMs)]),
        sleep(3 * drainMs, undefined, { ref: false }),
      ]);
    }
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
    url: urlOf(server.address()!),
    connections: promisify(server.getConnections.bind(server)),
    stop,
  };
}

/** Such as http://127.0.0.1:8080 or unix:/run/webhook-receiver/1/receiver.sock. */
function urlOf(address: AddressInfo | string): string {
  if (typeof address === 'string') return `unix:${address}`;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${name}:${address.port}`;
}

const statusOfCode: Record<string, ErrorStatus> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/**
 * Responds to bytes that Node could not read as a request, and closes the connection: by force in the end, because
 * a sender that neither reads nor closes would keep it open.
 *
 * @returns the status; undefined: nobody can read a response
 */
function respondToBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): ErrorStatus | undefined {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return undefined;
  }
  const problem = problemOf(statusOfCode[error.code ?? ''] ?? 400);
  const body = JSON.stringify(problem);
  socket.end(
    `HTTP/1.1 ${problem.status} ${problem.title}\r\nContent-Type: ${problemType}\r\nConnection: close\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
  const lingering = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(lingering));
  return problem.status;
}
