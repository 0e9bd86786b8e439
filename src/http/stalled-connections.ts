import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../config.ts';

interface Connection {
  /** Responses that the client has not read yet, in order. */
  responses: Set<ServerResponse>;
  /** When it last made progress. */
  since: number;
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
  { requestMs, keepAliveMs }: Config['limits'],
  everyMs: number,
): void {
  const connections = new Map<Socket, Connection>();
  server.on('connection', (socket) => {
    connections.set(socket, { responses: new Set(), since: performance.now() });
    socket.on('close', () => connections.delete(socket));
  });
  server.on('request', ({ socket }, res) => {
    const connection = connections.get(socket);
    connection?.responses.add(res);
    res.on('close', () => {
      connection?.responses.delete(res);
      if (connection) connection.since = performance.now();
    });
  });
  const watch = setInterval(() => {
    for (const [socket, connection] of connections) {
      const [first] = connection.responses;
      if (first && !first.writableEnded) connection.since = performance.now();
      const limitMs = first ? requestMs : keepAliveMs + requestMs;
      if (performance.now() - connection.since > limitMs) socket.destroy();
    }
  }, everyMs);
  watch.unref();
  server.on('close', () => clearInterval(watch));
}
