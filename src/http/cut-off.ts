import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../config.ts';

interface Connection {
  /** Answers that the other side has not taken yet, in their order. */
  answers: Set<ServerResponse>;
  /** When it last got somewhere. */
  since: number;
}

/**
 * Closes connections that get nowhere: whose answer is complete but not taken within `requestMs`, or on
 * which no request was completed within `keepAliveMs` and `requestMs`. Node's own limits miss those: bytes
 * that begin no request end its limit for idle connections, and it has none for an answer that nobody reads.
 *
 * An answer that is still being made has the time that it needs.
 *
 * @param everyMs how often the connections are looked at
 */
export function cutOffStalled(
  server: Server,
  { requestMs, keepAliveMs }: Config['limits'],
  everyMs: number,
): void {
  const connections = new Map<Socket, Connection>();
  server.on('connection', (socket) => {
    connections.set(socket, { answers: new Set(), since: performance.now() });
    socket.on('close', () => connections.delete(socket));
  });
  server.on('request', ({ socket }, res) => {
    const connection = connections.get(socket);
    connection?.answers.add(res);
    res.on('close', () => {
      connection?.answers.delete(res);
      if (connection) connection.since = performance.now();
    });
  });
  const watch = setInterval(() => {
    for (const [socket, connection] of connections) {
      const [first] = connection.answers;
      if (first && !first.writableEnded) connection.since = performance.now();
      const limitMs = first ? requestMs : keepAliveMs + requestMs;
      if (performance.now() - connection.since > limitMs) socket.destroy();
    }
  }, everyMs);
  watch.unref();
  server.on('close', () => clearInterval(watch));
}
