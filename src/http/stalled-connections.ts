import type { Server } from 'node:http';
import type { Config } from '../config/config.ts';
import type { Connections } from './connections.ts';

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
