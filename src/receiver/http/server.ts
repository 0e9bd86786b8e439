import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, Server as Listener } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { type Config, takesCallbacks } from '../../common/config/config.ts';
import type { Log } from '../../common/log.ts';
import { requests } from '../metrics.ts';
import { NotFound, sendJson, sendProblem } from './responses.ts';

export class PortUnavailable extends Error {
  constructor({ host, port }: Config, cause: NodeJS.ErrnoException) {
    const reasons: Record<string, string> = {
      EADDRINUSE: `PORT ${port} of ${host} is in use: stop the program that listens there, or set another PORT`,
      EACCES: `PORT ${port} needs privileges that this user does not have: set PORT to 1024 or more`,
    };
    super(reasons[cause.code ?? ''] ?? `HOST ${host} is not an address of this machine`, { cause });
    this.name = 'PortUnavailable';
  }
}

const servedMs = 60_000;

export interface Server {
  url: string;
  isStopping: () => boolean;
  /**
   * Refuses new connections after `stopDelayMs`; each response closes its connection meanwhile. A worker, and a receiver without
   * a request in the last minute, do not wait.
   */
  stop: () => Promise<void>;
}

/** Serves the registered paths, and the app at all others. @throws PortUnavailable */
export async function listen(
  callbacks: express.Router,
  app: express.Express,
  config: Config,
): Promise<Server> {
  const { times, limits } = config;
  const stopDelayMs = takesCallbacks(config) ? times.stopDelayMs : 0;
  let stopping: Promise<void> | undefined;
  let requestedAt = Number.NEGATIVE_INFINITY;
  const server = createServer({
    keepAliveTimeout: times.keepAliveMs,
    headersTimeout: times.requestMs,
    requestTimeout: times.requestMs,
    connectionsCheckingInterval: Math.min(times.requestMs, 1_000),
  });
  server.maxConnections = limits.connections;
  server.on('request', (req, res) => {
    requestedAt = performance.now();
    if (stopping) res.shouldKeepAlive = false;
    // The router reads nothing that only Express's own requests have.
    callbacks(req as express.Request, res as express.Response, (error) =>
      error ? sendProblem(res, error) : app(req, res),
    );
  });
  await once(server.listen(config.port, config.host), 'listening').catch((error) => {
    throw new PortUnavailable(config, error);
  });

  const close = async () => {
    if (stopDelayMs > 0 && performance.now() - requestedAt < servedMs) await sleep(stopDelayMs);
    const closed = once(server, 'close');
    // The HTTP server's own close would also cut connections on which a request is about to arrive.
    Listener.prototype.close.call(server);
    const closing = setInterval(() => server.closeIdleConnections(), 20);
    const giveUp = setTimeout(() => server.closeAllConnections(), times.stopMs);
    await closed;
    clearInterval(closing);
    clearTimeout(giveUp);
  };
  const stop = () => {
    stopping ??= close();
    return stopping;
  };
  const { address, family, port } = server.address() as AddressInfo;
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  return { url, isStopping: () => stopping !== undefined, stop };
}

/** Everything beside the registered paths. @param routes of the features */
export function createApp(routes: readonly express.RequestHandler[], log: Log): express.Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing');

  app.get('/healthz', (_req, res) => sendJson(res, 200, { status: 'alive' }));
  for (const route of routes) app.use(route);
  app.use((_req, _res, next) => next(new NotFound('Nothing is served at this path.')));
  const onError: express.ErrorRequestHandler = (error, _req, res, _next) => {
    const { status, isKnown } = sendProblem(res, error);
    requests.inc({ family: 'none', status });
    if (!isKnown) log.limited('error', { reason: error?.name }, 'request failed', { err: error });
  };
  app.use(onError);
  return app;
}
