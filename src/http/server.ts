import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, Server as Listener } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Express } from 'express';
import type { Config } from '../config.ts';
import type { Handler } from './callback-handler.ts';
import { cutOffStalled } from './cut-off.ts';
import { listening } from './reserve-port.ts';

export interface HttpServer {
  /** The address that it listens on, such as http://127.0.0.1:8080. */
  url: string;
  /** How many connections are open. */
  connections: () => Promise<number>;
  /** Takes no more connections, answers what is in flight, and closes them all. */
  stop: () => Promise<void>;
}

// So that an answer is read before the connection goes: bytes of the sender that nobody reads would reset it.
const lingerMs = 1_000;
const timeoutMs = 10_000;

/**
 * Serves the app. The registered paths are looked up before Express, whose router costs more than the rest
 * of a callback's way; anything else, and any other spelling of a path, is Express's.
 *
 * To stop without failing a request, the server first asks the senders to leave: each answer closes its
 * connection, while those that say nothing are closed only after `drainMs`.
 *
 * @param reserved the port, where it was taken before
 * @throws PortUnavailable
 */
export async function listen(
  app: Express,
  callbacks: ReadonlyMap<string, Handler>,
  config: Pick<Config, 'host' | 'port' | 'drainMs' | 'limits'>,
  reserved?: Listener,
): Promise<HttpServer> {
  const { drainMs, limits } = config;
  let stopping = false;
  const checkEveryMs = Math.min(limits.requestMs, 1_000);
  const timeouts = {
    keepAliveTimeout: limits.keepAliveMs,
    headersTimeout: limits.requestMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: checkEveryMs,
  };
  const server = createServer(timeouts, (req, res) => {
    if (stopping) res.shouldKeepAlive = false;
    const handle = callbacks.get(req.url ?? '');
    if (handle) void handle(req, res);
    else app(req, res);
  });
  server.maxConnections = limits.connections;
  server.on('clientError', answerBrokenRequest);
  cutOffStalled(server, limits, checkEveryMs);
  if (reserved) server.listen(reserved);
  else server.listen(config.port, config.host);
  await listening(server, config);
  server.ref();
  const address = server.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;

  const stop = async () => {
    stopping = true;
    const closed = once(server, 'close');
    // The server's own close would also cut connections on which a request is under way to us.
    Listener.prototype.close.call(server);
    await Promise.race([closed, sleep(drainMs)]);
    const closing = setInterval(() => server.closeIdleConnections(), 20);
    const giveUp = setTimeout(() => server.closeAllConnections(), timeoutMs);
    await closed;
    clearInterval(closing);
    clearTimeout(giveUp);
  };
  const connections = promisify(server.getConnections.bind(server));
  return { url: `http://${name}:${address.port}`, connections, stop };
}

const brokenRequests: Record<string, string> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

/**
 * What never became a request for Node gets an answer like all others, and its connection is closed: by us
 * in the end, for a sender that neither reads nor leaves would keep it.
 */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const line = brokenRequests[error.code ?? ''] ?? '400 Bad Request';
  const [status, ...title] = line.split(' ');
  const body = JSON.stringify({ type: 'about:blank', title: title.join(' '), status: Number(status) });
  socket.end(
    `HTTP/1.1 ${line}\r\nContent-Type: application/problem+json\r\nConnection: close\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
  const lingering = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(lingering));
}
