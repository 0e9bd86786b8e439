import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Log } from '../common/log.ts';
import { requests } from '../common/metrics.ts';
import { type HealthCheck, sharedReadiness, withoutDetails } from '../common/readiness.ts';
import { iconPaths } from '../config/addresses.ts';
import { NotFound } from '../receiver/http/errors.ts';
import type { TokenAccess } from './admin.ts';
import type { Handler } from './callback-handler.ts';
import { sendJson, sendProblem } from './responses.ts';

export interface AppDependencies {
  callbacks: ReadonlyMap<string, Handler>;
  health: readonly HealthCheck[];
  /** The time limit of each of them. */
  readinessMs?: number;
  /** Who sees the details of /readyz; undefined without an admin token. */
  admin?: TokenAccess | undefined;
  /** `scrape` makes the response of /metrics; undefined without a token that may scrape. */
  metrics?: { access: Pick<TokenAccess, 'require'>; scrape: Scrape } | undefined;
  /** The feed of changes; undefined without a token for it. */
  changes?: RequestHandler | undefined;
  console?: RequestHandler | undefined;
  log: Log;
}

const icon = readFileSync(join(import.meta.dirname, '../../assets/console/icon.svg'));

type Scrape = () => Promise<{ contentType: string; text: string }>;

export function createApp(dependencies: AppDependencies): Express {
  const { callbacks, health, admin, metrics, changes, console, log, readinessMs } = dependencies;
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing');

  for (const [path, handle] of callbacks) app.all(path, handle);

  app.get('/healthz', (_req, res) => sendJson(res, 200, { status: 'alive' }));
  // Not found, it would be counted as a rejected request.
  app.get(iconPaths, (_req, res) => {
    res.writeHead(200, { 'Content-Type': 'image/svg+xml', 'Cache-Control': 'max-age=86400' }).end(icon);
  });
  const readReadiness = sharedReadiness(health, readinessMs);
  app.get('/readyz', async (req, res) => {
    const { ready, parts } = await readReadiness();
    const shown = admin?.has(req) ? parts : withoutDetails(parts);
    sendJson(res, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', parts: shown });
  });

  if (metrics) {
    app.get('/metrics', metrics.access.require, async (_req, res) => {
      const { contentType, text } = await metrics.scrape();
      res.writeHead(200, { 'Content-Type': contentType, 'Cache-Control': 'no-store' }).end(text);
    });
  }
  const onError =
    (family?: string): ErrorRequestHandler =>
    (error, _req, res, _next) => {
      const status = sendProblem(res, error);
      if (family) requests.inc({ family, status });
      if (status === 500) log.limited('error', { reason: error?.name }, 'request failed', { err: error });
    };
  // It is not the sender of callbacks who is refused there.
  if (changes) app.get('/changes', changes, onError());
  if (console) app.use('/console', console);

  app.use((_req, _res, next) => next(new NotFound()));
  app.use(onError('none'));
  return app;
}
