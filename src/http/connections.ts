import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf, plainAddress } from '../common/address.ts';
import type { Config } from '../config/config.ts';

export interface Connection {
  socket: Socket;
  /** The network of its address, which limits count. */
  source: string;
  /** Unfinished responses, in order. */
  responses: Set<ServerResponse>;
  /** When it was opened, and when it last made progress. */
  opened: number;
  since: number;
  isProven: boolean;
}

/** The open connections of a server, oldest first. */
export class Connections extends Map<Socket, Connection> {
  constructor(server: Server) {
    super();
    server.on('connection', (socket) => {
      const now = performance.now();
      this.set(socket, {
        socket,
        source: networkOf(plainAddress(socket.remoteAddress ?? 'unknown')),
        responses: new Set(),
        opened: now,
        since: now,
        isProven: false,
      });
      socket.on('close', () => this.delete(socket));
    });
  }

  /**
   * Notes that a request has begun.
   *
   * @returns its connection; undefined: it was closed meanwhile, and the request was read before
   */
  begin({ socket }: IncomingMessage, res: ServerResponse): Connection | undefined {
    const connection = this.get(socket);
    if (!connection) return undefined;
    connection.responses.add(res);
    connection.since = performance.now();
    res.on('close', () => {
      connection.responses.delete(res);
      connection.since = performance.now();
    });
    return connection;
  }

  /** Closes a connection. Requests on it that were read already are not handled. */
  close({ socket }: Connection): void {
    this.delete(socket);
    socket.destroy();
    stopParsing(socket);
  }
}

/**
 * Ends the parsing of what was read. Otherwise Node creates each of the requests, up to 2,600 in a read of 64 kB, and an
 * error with a stack for each: 20 ms. The parser is not documented; if it is gone, only that time is lost.
 */
function stopParsing(socket: Socket): void {
  const { parser } = socket as Socket & { parser?: { onIncoming: () => number } | null };
  // The number says that another protocol begins behind the headers, which the parser leaves alone.
  if (parser) parser.onIncoming = () => 2;
}

/**
 * Closes stalled connections: those whose response is complete but not read within `requestMs`, and those on which
 * no request was completed within `keepAliveMs` and `requestMs`. Node's own timeouts miss both: bytes that begin no
 * request end its timeout of idle connections, and it has none for a response that the client does not read.
 *
 * A response that is still being prepared has no limit.
 *
 * @param everyMs how often the connections are checked
 */
export function closeStalledConnections(
  server: Server,
  connections: Connections,
  { requestMs, keepAliveMs }: Config['limits'],
  everyMs: number,
): void {
  const watch = setInterval(() => {
    for (const connection of connections.values()) {
      const [first] = connection.responses;
      if (first && !first.writableEnded) connection.since = performance.now();
      const limitMs = first ? requestMs : keepAliveMs + requestMs;
      if (performance.now() - connection.since > limitMs) connections.close(connection);
    }
  }, everyMs);
  watch.unref();
  server.on('close', () => clearInterval(watch));
}
