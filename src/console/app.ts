import express, { type ErrorRequestHandler, type Response } from 'express';
import { isUnavailable } from '../store/faults.ts';
import { addAccessLog } from './access-log/routes.tsx';
import { addAliases } from './aliases/routes.tsx';
import { serveAsset } from './assets.ts';
import { addDeliveries } from './deliveries/routes.tsx';
import type { ConsoleDependencies } from './dependencies.ts';
import { NotFound } from './errors.ts';
import { addFailed } from './failed/routes.tsx';
import { loadFrame } from './frame.ts';
import { guardRoutes, requireFormToken, requireSameOrigin } from './guard.ts';
import { addNotes } from './notes/routes.ts';
import { publicUrlSetting } from './origin.ts';
import { describeOutage } from './outage.ts';
import { addOverview } from './overview/routes.tsx';
import { addPatients } from './patients/routes.tsx';
import { addQuarantine } from './quarantine/routes.tsx';
import { addQueue } from './queue/routes.tsx';
import { createRecordAccess } from './record-access.ts';
import { addRejections } from './rejections/routes.tsx';
import { addReports } from './reports/routes.tsx';
import { addSearch } from './search/routes.tsx';
import { pageHeaders } from './security-headers.ts';
import { createSessions } from './session.ts';
import { createProvider } from './sign-in/provider.ts';
import { requireSession } from './sign-in/require-session.ts';
import { addSignOut } from './sign-in/sign-out.ts';
import { addProviderSignIn } from './sign-in/with-provider.ts';
import { addTokenSignIn } from './sign-in/with-token.ts';
import { createSignedValues } from './signed-values.ts';
import { openStore } from './store.ts';
import { addThings } from './things/routes.tsx';
import { sendError } from './ui/error-page.tsx';

const pages = [
  ...[addOverview, addDeliveries, addFailed, addQuarantine, addReports, addQueue],
  ...[addPatients, addAliases, addAccessLog, addNotes, addRejections, addSearch, addThings],
];

/** Whether somebody has signed in, or could but for the outage. */
const isKnown = (res: Response) => Boolean(res.locals.visit ?? res.locals.entering);

/** All pages below /console. */
export function openConsole(dependencies: ConsoleDependencies) {
  const { adminToken, oidc, log, trustProxy, publicUrl } = dependencies;
  const { close, ...store } = openStore(dependencies);
  const record = createRecordAccess(store.db, log);
  const provider = oidc && createProvider(oidc);
  const values = createSignedValues([adminToken, oidc?.clientSecret]);
  const sessions = createSessions(values);
  const signIn = { ...dependencies, values, sessions, provider, record };

  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', trustProxy).set(publicUrlSetting, publicUrl);
  const routes = guardRoutes(app);
  app.use(pageHeaders, requireSameOrigin(log));
  routes.get('/assets/console.css', serveAsset('console.css'));
  if (provider) addProviderSignIn(routes, provider, signIn);
  const readForm = express.urlencoded({ extended: false, limit: '64kb' });
  app.use('/sign-in', readForm);
  addTokenSignIn(routes, signIn);

  app.use(requireSession(signIn));
  // A corrected body, encoded as a form.
  app.use('/quarantine', express.urlencoded({ extended: false, limit: '1mb' }));
  app.use(readForm, requireFormToken);
  for (const name of ['console.js', 'charts.js', 'chart-library.js', 'icon.svg'] as const) {
    routes.get(`/assets/${name}`, serveAsset(name));
  }
  addSignOut(routes, signIn);
  app.use(loadFrame(store.db));
  for (const addPages of pages) addPages(routes, { ...dependencies, ...store, record });

  app.use(() => {
    throw new NotFound('There is no such page.');
  });
  const onError: ErrorRequestHandler = async (error, _req, res, _next) => {
    const isAway = dependencies.circuit.isOpen || isUnavailable(error);
    const more = isAway && isKnown(res) ? await describeOutage(dependencies) : undefined;
    if (sendError(res, error, more) !== 500) return;
    log.limited('error', { reason: error?.name, code: error?.code }, 'a console page failed', { err: error });
  };
  app.use(onError);
  return { app, close };
}
