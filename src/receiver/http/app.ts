import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Log } from '../../common/log.ts';
import { requests } from '../metrics.ts';
import { NotFound } from './request-errors.ts';
import { sendJson, sendProblem } from './responses.ts';

export interface AppDependencies {
  /** What stands beside the callbacks. */
  routes: readonly RequestHandler[];
  log: Log;
}

/** Everything beside the registered paths. */
export function createApp({ routes, log }: AppDependencies): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing');

  app.get('/healthz', (_req, res) => sendJson(res, 200, { status: 'alive' }));
  for (const route of routes) app.use(route);
  app.use((_req, _res, next) => next(new NotFound()));
  const onError: ErrorRequestHandler = (error, _req, res, _next) => {
    const { status, isKnown } = sendProblem(res, error);
    requests.inc({ family: 'none', status });
    if (!isKnown) log.limited('error', { reason: error?.name }, 'request failed', { err: error });
  };
  app.use(onError);
  return app;
}
