import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Log } from '../log.ts';
import { answer, answerProblem } from './answers.ts';
import type { Handler } from './callback-handler.ts';
import { NotFound } from './errors.ts';
import { type HealthPart, readiness } from './health.ts';

export interface AppParts {
  /** The handler of each registered path. */
  callbacks: ReadonlyMap<string, Handler>;
  health: readonly HealthPart[];
  /** What is for administrators; undefined where there is no admin token. */
  admin?: AdminParts | undefined;
  log: Log;
}

export interface AdminParts {
  /** Lets through who sends the admin token. */
  require: RequestHandler;
  console: RequestHandler;
  /** Makes what is served at /openapi.json. */
  contract?: (() => object | Promise<object>) | undefined;
}

/** Everything that the service serves. */
export function createApp({ callbacks, health, admin, log }: AppParts): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing');

  for (const [path, handle] of callbacks) app.all(path, handle);

  app.get('/healthz', (_req, res) => answer(res, 200, { status: 'alive' }));
  app.get('/readyz', async (_req, res) => {
    const { ready, parts } = await readiness(health);
    answer(res, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', parts });
  });

  if (admin) {
    app.use('/console', admin.console);
    const { contract } = admin;
    if (contract)
      app.get('/openapi.json', admin.require, async (_req, res) => answer(res, 200, await contract()));
  }

  app.use((_req, _res, next) => next(new NotFound()));
  const onError: ErrorRequestHandler = (error, _req, res, _next) => {
    if (answerProblem(res, error) === 500) log.error({ err: error }, 'a request could not be handled');
  };
  app.use(onError);
  return app;
}
