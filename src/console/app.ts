import express, { type ErrorRequestHandler, type Express } from 'express';
import { serveAsset } from './assets.ts';
import { addDeliveries } from './deliveries/routes.tsx';
import { NotHere } from './errors.ts';
import { addFailed } from './failed/routes.tsx';
import { requireFormToken, requireSameSite } from './guard.ts';
import { addOverview } from './overview/routes.tsx';
import type { ConsoleParts } from './dependencies.ts';
import { addQuarantine } from './quarantine/routes.tsx';
import { addQueue } from './queue/routes.tsx';
import { addReports } from './reports/routes.tsx';
import { pageHeaders } from './security-headers.ts';
import { createSessions } from './session.ts';
import { requireSession, signIn, signOut } from './sign-in.tsx';
import { openStore } from './store.ts';
import { sendError } from './ui/error-page.tsx';

export interface OpenConsole {
  app: Express;
  close: () => Promise<void>;
}

/** Everything below /console. */
export function openConsole(parts: ConsoleParts): OpenConsole {
  const { adminToken, attempts, log, timezone, trustProxy, databaseUrl } = parts;
  const store = openStore(databaseUrl, timezone, log);
  const guard = { adminToken, sessions: createSessions(adminToken), attempts, timezone, log };

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
  addOverview(app, parts, store);
  addDeliveries(app, parts, store);
  addFailed(app, parts, store);
  addQuarantine(app, parts, store);
  addReports(app, parts, store);
  addQueue(app, parts);

  app.use(() => {
    throw new NotHere('There is no such page.');
  });
  const onError: ErrorRequestHandler = (error, _req, res, _next) => {
    if (sendError(res, error) === 500) log.error({ err: error }, 'a page of the console could not be made');
  };
  app.use(onError);
  return { app, close: store.close };
}
