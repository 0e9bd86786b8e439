import type { IncomingMessage } from 'node:http';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Log } from '../log.ts';
import { answer, answerProblem } from './responses.ts';
import type { Handler, HttpObserver } from './callback-handler.ts';
import { NotFound } from './errors.ts';
import { type HealthPart, readiness, withoutDetails } from '../readiness.ts';

export interface AppParts {
  /** The handler of each registered path. */
  callbacks: ReadonlyMap<string, Handler>;
  health: readonly HealthPart[];
  /** What is for administrators; undefined where there is no admin token. */
  admin?: AdminParts | undefined;
  observe?: Pick<HttpObserver, 'strayed'> | undefined;
  log: Log;
}

export interface AdminParts {
  /** Whether a request brings the admin token. */
  sent: (req: IncomingMessage) => boolean;
  /** Lets through who sends the admin token. */
  require: RequestHandler;
  /** What is served at /metrics. */
  scrape: () => Promise<{ contentType: string; text: string }>;
  /** Makes what is served at /openapi.json. */
  contract?: (() => Promise<object>) | undefined;
  console?: RequestHandler;
}

/** Everything that the service serves. */
export function createApp({ callbacks, health, admin, observe, log }: AppParts): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing');

  for (const [path, handle] of callbacks) app.all(path, handle);

  app.get('/healthz', (_req, res) => answer(res, 200, { status: 'alive' }));
  app.get('/readyz', async (req, res) => {
    const { ready, parts } = await readiness(health);
    const shown = admin?.sent(req) ? parts : withoutDetails(parts);
    answer(res, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', parts: shown });
  });

  if (admin) {
    const { contract } = admin;
    app.get('/metrics', admin.require, async (_req, res) => {
      const { contentType, text } = await admin.scrape();
      res.writeHead(200, { 'Content-Type': contentType, 'Cache-Control': 'no-store' }).end(text);
    });
    if (contract)
      app.get('/openapi.json', admin.require, async (_req, res) => answer(res, 200, await contract()));
    if (admin.console) app.use('/console', admin.console);
  }

  app.use((_req, _res, next) => next(new NotFound()));
  const onError: ErrorRequestHandler = (error, _req, res, _next) => {
    const status = answerProblem(res, error);
    observe?.strayed(status);
    if (status === 500) log.error({ err: error }, 'a request could not be handled');
  };
  app.use(onError);
  return app;
}
