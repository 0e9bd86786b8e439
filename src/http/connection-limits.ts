import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Log } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import type { Connection, Connections } from './connections.ts';

const healthPaths = ['/healthz', '/readyz'];

/** How long a connection may wait for its sender before it makes room for another. */
const waitMs = 1_000;

/**
 * Limits the connections of each address, and of all. A connection counts towards its address until a callback on it
 * was accepted, because the platform has few addresses. For a new one the oldest is closed that waits for its sender
 * and was not proven by a callback; if there is none, the new one. Where all are in use, the address with the most makes
 * room for one with fewer, also with connections that have just been used. Beyond the limit of all there is room for
 * health checks: a busy process must not be taken for a dead one.
 *
 * @returns whether to handle a request of a connection
 */
export function limitConnections(
  server: Server,
  connections: Connections,
  callbacks: { has: (path: string) => boolean },
  { limits: { connections: limits }, authentication }: Pick<Config, 'limits' | 'authentication'>,
  log: Log,
): (connection: Connection, req: IncomingMessage, res: ServerResponse) => boolean {
  // Otherwise the address of a connection is a proxy's.
  const fromSenders = authentication.trustProxy === 0;
  const shares = new Map<string, Set<Connection>>();
  const forHealth = new Set<Connection>();

  const leave = (connection: Connection) => {
    forHealth.delete(connection);
    const share = shares.get(connection.source);
    if (share?.delete(connection) && share.size === 0) shares.delete(connection.source);
  };
  const close = (connection: Connection, reason: string) => {
    leave(connection);
    connections.close(connection);
    log.limited('warn', { reason }, 'connection closed', { source: connection.source });
  };
  const prove = (connection: Connection) => {
    connection.isProven = true;
    leave(connection);
  };
  /** Closes the oldest that has waited since then. @returns whether there was one */
  const makeRoom = (among: Iterable<Connection>, waitingSince: number, reason: string): boolean => {
    for (const connection of among) {
      if (connection.opened > waitingSince) return false;
      if (connection.isProven || !isWaiting(connection, waitingSince)) continue;
      close(connection, reason);
      return true;
    }
    return false;
  };

  /** Closes a connection of the address that has the most, if it has more than the newcomer's. */
  const takeFromLargest = ({ source }: Connection, reason: string): boolean => {
    if (!fromSenders) return false;
    let largest = shares.get(source) ?? new Set<Connection>();
    for (const share of shares.values()) if (share.size > largest.size) largest = share;
    return largest !== shares.get(source) && makeRoom(largest, performance.now(), reason);
  };

  server.on('connection', (socket) => {
    const connection = connections.get(socket)!;
    socket.on('close', () => leave(connection));
    const longAgo = connection.opened - waitMs;
    if (fromSenders) {
      const share = shares.get(connection.source) ?? new Set();
      shares.set(connection.source, share.add(connection));
      const reason = 'too many of its address';
      if (share.size > limits.perAddress && !makeRoom(share, longAgo, reason))
        return close(connection, reason);
    }
    const reason = 'too many connections';
    if (connections.size <= limits.total || makeRoom(connections.values(), longAgo, reason)) return;
    if (takeFromLargest(connection, reason)) return;
    forHealth.add(connection);
    if (forHealth.size > limits.forHealth) makeRoom(forHealth, connection.opened, reason);
  });

  return (connection, req, res) => {
    if (!connection.isProven) {
      const path = (req.url ?? '').split('?')[0]!;
      if (forHealth.has(connection)) {
        // Without a response, so that a proxy sends a callback to another receiver.
        if (!healthPaths.includes(path)) {
          close(connection, 'too many connections');
          return false;
        }
        res.shouldKeepAlive = false;
      }
      if (callbacks.has(path)) {
        res.on('finish', () => {
          if (res.statusCode === 200) prove(connection);
        });
      }
    }
    // Node starts pipelined requests at once. The response that reaches the limit closes the connection; requests behind
    // it are not handled, and their sender has to repeat them (RFC 9112, section 9.3.2).
    const unfinished = connection.responses.size;
    if (unfinished >= limits.pipelined) res.shouldKeepAlive = false;
    if (unfinished > limits.ignored) close(connection, 'too many pipelined requests');
    return unfinished <= limits.pipelined;
  };
}

/** Whether the connection has only waited for its sender since then: for a request, the rest of one, or a response to be read. */
function isWaiting({ responses, since }: Connection, then: number): boolean {
  if (since > then) return false;
  const [first] = responses;
  // A request is paused while its body waits for memory.
  return !first || first.writableEnded || !(first.req.complete || first.req.isPaused());
}
