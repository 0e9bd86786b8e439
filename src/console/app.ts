import express, { type ErrorRequestHandler, type Response } from 'express';
import { isUnavailable } from '../store/faults.ts';
import { addAccessLog } from './access-log/routes.tsx';
import { addAliases } from './aliases/routes.tsx';
import { serveAsset } from './assets.ts';
import { addDeliveries } from './deliveries/routes.tsx';
import type { ConsoleDependencies } from './dependencies.ts';
import { PageNotFound } from './errors.ts';
import { addFailed } from './failed/routes.tsx';
import { loadFrame } from './frame.ts';
import { guardRoutes, requireFormToken, requireSameOrigin } from './guard.ts';
import { addHealth } from './health/routes.tsx';
import { createLogAccess } from './log-access.ts';
import { redirectMoved } from './moved.ts';
import { addNotes } from './notes/routes.ts';
import { publicUrlSetting } from './origin.ts';
import { describeOutage } from './outage.ts';
import { addOverview } from './overview/routes.tsx';
import { addPatients } from './patients/routes.tsx';
import { addQuarantine } from './quarantine/routes.tsx';
import { addRecords } from './records/routes.tsx';
import { addRejections } from './rejections/routes.tsx';
import { addReports } from './reports/routes.tsx';
import { addSearch } from './search/routes.tsx';
import { pageHeaders } from './security-headers.ts';
import { createSessions } from './session.ts';
import { addSessions } from './sessions/routes.tsx';
import { createProvider } from './sign-in/provider.ts';
import { createRecheck } from './sign-in/recheck.ts';
import { readSessions, requireDatabase, requireSession } from './sign-in/require-session.ts';
import { addSignOut } from './sign-in/sign-out.ts';
import { addProviderSignIn } from './sign-in/with-provider.ts';
import { addTokenSignIn } from './sign-in/with-token.ts';
import { createSignedValues } from './signed-values.ts';
import { openStore } from './store.ts';
import { sendError } from './ui/error-page.tsx';

const pages = [
  ...[addOverview, addDeliveries, addFailed, addQuarantine, addReports],
  ...[addPatients, addAliases, addAccessLog, addSessions, addNotes, addRejections, addSearch, addRecords],
];

/** Whether somebody has signed in, or could but for the outage. */
const isKnown = (res: Response) => Boolean(res.locals.visit ?? res.locals.entering);

/** All pages below /console. */
export function openConsole(dependencies: ConsoleDependencies) {
  const { adminToken, oidc, log, trustProxy, sessionStore, publicUrl } = dependencies;
  const { close, ...store } = openStore(dependencies);
  const logAccess = createLogAccess(store.db, log);
  const provider = oidc && createProvider(oidc);
  const values = createSignedValues(() => sessionStore.key(), [adminToken, oidc?.clientSecret]);
  const sessions = createSessions(values, sessionStore);
  const recheck = provider && createRecheck({ values, logAccess, log }, provider, oidc.recheckMs);
  const signIn = { ...dependencies, db: store.db, values, sessions, provider, recheck, logAccess };

  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', trustProxy).set(publicUrlSetting, publicUrl);
  const routes = guardRoutes(app);
  app.use(pageHeaders, requireSameOrigin(log));
  routes.get('/assets/console.css', serveAsset('console.css'));
  app.use(readSessions(sessionStore));
  if (provider) addProviderSignIn(routes, provider, signIn);
  const readForm = express.urlencoded({ extended: false, limit: '64kb' });
  app.use('/sign-in', readForm);
  addTokenSignIn(routes, signIn);

  app.use(requireSession(signIn, readForm), redirectMoved);
  // A corrected body, encoded as a form.
  app.use('/quarantine', express.urlencoded({ extended: false, limit: '1mb' }));
  app.use(readForm, requireFormToken);
  for (const name of ['console.js', 'charts.js', 'chart-library.js', 'icon.svg'] as const) {
    routes.get(`/assets/${name}`, serveAsset(name));
  }
  addSignOut(routes, signIn);
  addHealth(routes, dependencies);
  app.use(requireDatabase, loadFrame(store.db));
  for (const addPages of pages) addPages(routes, { ...dependencies, ...store, logAccess });

  app.use(() => {
    throw new PageNotFound('There is no such page.');
  });
  const onError: ErrorRequestHandler = async (error, _req, res, _next) => {
    const isAway = dependencies.circuit.isOpen || res.locals.outage || isUnavailable(error);
    const outage = isAway && isKnown(res) ? await describeOutage(dependencies) : undefined;
    if (sendError(res, error, outage) !== 500) return;
    log.limited('error', { reason: error?.name, code: error?.code }, 'a console page failed', { err: error });
  };
  app.use(onError);
  return { app, close };
}
