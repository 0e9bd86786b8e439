import express, { type ErrorRequestHandler } from 'express';
import { serveAsset } from './assets.ts';
import { addDeliveries } from './deliveries/routes.tsx';
import type { ConsoleDependencies } from './dependencies.ts';
import { NotFound } from './errors.ts';
import { addFailed } from './failed/routes.tsx';
import { requireFormToken, requireSameSite } from './guard.ts';
import { addOverview } from './overview/routes.tsx';
import { addQuarantine } from './quarantine/routes.tsx';
import { addQueue } from './queue/routes.tsx';
import { addReports } from './reports/routes.tsx';
import { pageHeaders } from './security-headers.ts';
import { createSessions } from './session.ts';
import { requireSession, signIn, signOut } from './sign-in.tsx';
import { openStore } from './store.ts';
import { sendError } from './ui/error-page.tsx';

/** All pages below /console. */
export function openConsole(dependencies: ConsoleDependencies) {
  const { adminToken, verifyToken, log, timezone, trustProxy, databaseUrl } = dependencies;
  const { close, ...store } = openStore(databaseUrl, timezone, log);
  const guard = { sessions: createSessions(adminToken), verifyToken, timezone, log };

  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', trustProxy);
  app.use(pageHeaders, requireSameSite);
  app.get('/assets/console.css', serveAsset('console.css'));
  const readForm = express.urlencoded({ extended: false, limit: '64kb' });
  app.post('/sign-in', readForm, signIn(guard));

  app.use(requireSession(guard));
  for (const name of ['charts.js', 'chart-library.js', 'icon.svg'] as const) {
    app.get(`/assets/${name}`, serveAsset(name));
  }
  app.use(readForm, requireFormToken);
  app.post('/sign-out', signOut);
  for (const addRoutes of [addOverview, addDeliveries, addFailed, addQuarantine, addReports, addQueue]) {
    addRoutes(app, { ...dependencies, ...store });
  }

  app.use(() => {
    throw new NotFound('There is no such page.');
  });
  const onError: ErrorRequestHandler = (error, _req, res, _next) => {
    if (sendError(res, error) === 500) log.error({ err: error }, 'a console page failed');
  };
  app.use(onError);
  return { app, close };
}
