import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Log } from '../../common/log.ts';
import { requests } from '../../common/metrics.ts';
import { NotFound } from './errors.ts';
import { send, sendJson, sendProblem } from './responses.ts';

export interface Readiness {
  /** Whether a store can take a callback. */
  ready: boolean;
  checks: readonly { name: string; status: 'ok' | 'warn' | 'fail'; detail: string }[];
}

export interface AppDependencies {
  ready: () => Promise<Readiness>;
  /** What stands beside the callbacks. */
  routes: readonly RequestHandler[];
  log: Log;
}

/** Everything beside the registered paths. */
export function createApp({ ready, routes, log }: AppDependencies): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing');

  app.get('/healthz', (_req, res) => sendJson(res, 200, { status: 'alive' }));
  app.get('/readyz', async (_req, res) => {
    const readiness = await ready();
    send(res, readiness.ready ? 200 : 503, 'application/json', linesOf(readiness));
  });

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

/** JSON with a line per check, to be read in a terminal. */
function linesOf({ ready, checks }: Readiness): string {
  const lines = checks.map(({ name, status, detail }) => JSON.stringify({ name, status, detail }));
  return `{"ready":${ready},"checks":[\n${lines.join(',\n')}\n]}\n`;
}
