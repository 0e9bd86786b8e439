import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Request } from 'express';
import { type Log, withoutLevels } from '../common/log.ts';
import type { Observer } from '../common/observer.ts';
import { withoutSecrets } from '../config/unguessable.ts';
import { addressOf } from './access/address.ts';

export type RequestLog = ReturnType<typeof createRequestLog>;

interface Entry {
  started: number;
  source: string;
  status?: number;
  delivery?: string | undefined;
  reason?: string | undefined;
  isHandled?: boolean;
  /** Writes the line, where the connection was closed while the callback is still handled. */
  finish?: () => void;
}

/** A connection: the bytes of its former requests, and its latest one. */
interface Connection {
  received: number;
  sent: number;
  req?: IncomingMessage;
}

const unlogged: (string | null)[] = ['/healthz', '/readyz'];

/**
 * A line for each HTTP request, written when its response is complete or its connection is closed. Nothing of the URL is
 * in it: the path is that of the route, without its unguessable parts.
 *
 * @param trustProxy how many trusted proxies are in front of the receiver
 */
export function createRequestLog(log: Log, trustProxy: number) {
  const lines = withoutLevels(log, { log: 'request' });
  const entries = new WeakMap<IncomingMessage, Entry>();
  const connections = new WeakMap<Socket, Connection>();

  const countBytes = (socket: Socket) => {
    const before = connections.get(socket) ?? { received: 0, sent: 0 };
    connections.set(socket, { ...before, received: socket.bytesRead, sent: socket.bytesWritten });
    return { received: socket.bytesRead - before.received, sent: socket.bytesWritten - before.sent };
  };

  const write = (req: IncomingMessage, res: ServerResponse, entry: Entry, path: string | null) => {
    const { started, source, delivery, reason, status = res.headersSent ? res.statusCode : null } = entry;
    const ms = Math.round((performance.now() - started) * 100) / 100;
    const bytes = countBytes(req.socket);
    if (unlogged.includes(path)) return;
    lines.info({ method: req.method, path, status, reason, ms, ...bytes, source, delivery });
  };

  const noteReason = (req: IncomingMessage, _status: number, reason: string) => {
    const entry = entries.get(req);
    if (entry) entry.reason = reason;
  };
  const observer: Observer = {
    responded: ({ req, delivery, reason }) => {
      const entry = entries.get(req);
      if (!entry) return;
      entry.delivery = delivery;
      entry.reason ??= reason;
      entry.isHandled = true;
      entry.finish?.();
    },
    unrouted: noteReason,
    feedRefused: noteReason,
  };

  return {
    observer,
    /** @param callbacks the registered paths */
    watch: (server: Server, callbacks: Iterable<string>) => {
      const paths = new Map(Array.from(callbacks, (path) => [path, withoutSecrets(path)]));
      // Before the request is handled.
      server.prependListener('request', (req, res) => {
        const path = paths.get(req.url ?? '');
        const entry: Entry = { started: performance.now(), source: addressOf(req, trustProxy) };
        entries.set(req, entry);
        const { received, sent } = connections.get(req.socket) ?? { received: 0, sent: 0 };
        connections.set(req.socket, { received, sent, req });
        res.on('close', () => {
          // Asked now: a response that nobody can read any more counts as finished.
          const isAborted = !res.writableFinished;
          const finish = () => {
            if (isAborted) entry.reason ??= 'ResponseAborted';
            write(req, res, entry, path ?? routeOf(req as Request, paths));
          };
          if (!isAborted || path === undefined || entry.isHandled) finish();
          else entry.finish = finish;
        });
      });
    },
    /** Notes that a request was not readable, or did not arrive in time. */
    broken: (socket: Socket, status: number, reason: string) => {
      const { req } = connections.get(socket) ?? {};
      const entry = req && !req.complete ? entries.get(req) : undefined;
      if (entry) Object.assign(entry, { status, reason });
      else {
        const source = socket.remoteAddress ?? null;
        lines.info({ method: null, path: null, status, reason, ms: 0, ...countBytes(socket), source });
      }
    },
  };
}

/** The path of the route that Express has found; null: none, the URL may be a guess, or contain anything. */
function routeOf({ baseUrl = '', route }: Request, paths: ReadonlyMap<string, string>): string | null {
  const path = route?.path as string | undefined;
  if (path === undefined) return baseUrl ? `${baseUrl}/…` : null;
  return paths.get(path) ?? baseUrl + path;
}
