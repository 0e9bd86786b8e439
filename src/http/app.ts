import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Log } from '../log.ts';
import { type HealthCheck, sharedReadiness, withoutDetails } from '../readiness.ts';
import type { AdminAccess } from './admin.ts';
import type { Handler, HttpObserver } from './callback-handler.ts';
import { NotFound } from './errors.ts';
import { sendJson, sendProblem } from './responses.ts';

export interface AppDependencies {
  /** The handler of each registered path. */
  callbacks: ReadonlyMap<string, Handler>;
  health: readonly HealthCheck[];
  /** The routes for administrators; undefined without an admin token. */
  admin?: AdminDependencies | undefined;
  /** Serves /console. */
  console?: RequestHandler | undefined;
  observe?: Pick<HttpObserver, 'unrouted'> | undefined;
  log: Log;
}

export interface AdminDependencies {
  access: Pick<AdminAccess, 'isAdmin' | 'require'>;
  /** Makes the response of /metrics. */
  scrape: (accept?: string) => Promise<{ contentType: string; text: string }>;
  /** Makes the response of /openapi.json. */
  openapi?: (() => Promise<object>) | undefined;
}

/** All routes of the service. */
export function createApp({ callbacks, health, admin, console, observe, log }: AppDependencies): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing');

  for (const [path, handle] of callbacks) app.all(path, handle);

  app.get('/healthz', (_req, res) => sendJson(res, 200, { status: 'alive' }));
  const readReadiness = sharedReadiness(health);
  app.get('/readyz', async (req, res) => {
    const { ready, parts } = await readReadiness();
    const shown = admin?.access.isAdmin(req) ? parts : withoutDetails(parts);
    sendJson(res, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', parts: shown });
  });

  if (admin) {
    const { openapi } = admin;
    app.get('/metrics', admin.access.require, async (req, res) => {
      const { contentType, text } = await admin.scrape(req.headers.accept);
      res.writeHead(200, { 'Content-Type': contentType, 'Cache-Control': 'no-store' }).end(text);
    });
    if (openapi)
      app.get('/openapi.json', admin.access.require, async (_req, res) =>
        sendJson(res, 200, await openapi()),
      );
  }
  if (console) app.use('/console', console);

  app.use((_req, _res, next) => next(new NotFound()));
  const onError: ErrorRequestHandler = (error, req, res, _next) => {
    const status = sendProblem(res, error);
    observe?.unrouted?.(req, status, error.name);
    if (status === 500) log.limited('error', { reason: error?.name }, 'request failed', { err: error });
  };
  app.use(onError);
  return app;
}
