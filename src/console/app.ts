import express, { type ErrorRequestHandler, type Response } from 'express';
import { isUnavailable } from '../store/faults.ts';
import { assetRights, serveAsset } from './assets.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import { PageNotFound } from './errors.ts';
import { loadFrame } from './frame.ts';
import { guardRoutes, requireFormToken, requireSameOrigin } from './guard.ts';
import { createLogAccess } from './log-access.ts';
import { redirectMoved } from './moved.ts';
import { publicUrlSetting } from './origin.ts';
import { describeOutage } from './outage.ts';
import { createMay } from './rights.ts';
import { navigation, rights, sections } from './sections.ts';
import { pageHeaders } from './security-headers.ts';
import { createSessions } from './session.ts';
import { createProvider } from './sign-in/provider.ts';
import { createRecheck } from './sign-in/recheck.ts';
import { readSessions, requireDatabase, requireSession } from './sign-in/require-session.ts';
import { signInRights } from './sign-in/rights.ts';
import { addSignOut } from './sign-in/sign-out.ts';
import { addProviderSignIn } from './sign-in/with-provider.ts';
import { addTokenSignIn } from './sign-in/with-token.ts';
import { createSignedValues } from './signed-values.ts';
import { openStore } from './store.ts';
import { sendError } from './ui/error-page.tsx';

/** Whether somebody has signed in, or could but for the outage. */
const isKnown = (res: Response) => Boolean(res.locals.visit ?? res.locals.entering);

/** All pages below /console. */
export function openConsole(dependencies: ConsoleDependencies) {
  const { config, log, sessionStore } = dependencies;
  const { adminToken, oidc, publicUrl, erasure, downloads, reportTimezone: timezone } = config;
  const { trustProxy } = config.authentication;
  const { close, ...store } = openStore(dependencies);
  const logAccess = createLogAccess(store.db, log);
  const provider = oidc && createProvider(oidc);
  const values = createSignedValues(() => sessionStore.key(), [adminToken, oidc?.clientSecret]);
  const sessions = createSessions(values, sessionStore);
  const recheck = provider && createRecheck({ values, logAccess, log }, provider, oidc.recheckMs);
  const frame = { navigation, may: createMay(rights) };
  const signIn = { ...dependencies, db: store.db, values, sessions, provider, recheck, frame, logAccess };

  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', trustProxy).set(publicUrlSetting, publicUrl);
  const assets = guardRoutes(app, assetRights);
  const signInRoutes = guardRoutes(app, signInRights);
  const pageDependencies = { ...dependencies, erasure, downloads, timezone, ...store, logAccess };
  app.use(pageHeaders, requireSameOrigin(log));
  assets.get('/assets/console.css', serveAsset('console.css'));
  app.use(readSessions(sessionStore));
  if (provider) addProviderSignIn(signInRoutes, provider, signIn);
  const readForm = express.urlencoded({ extended: false, limit: '64kb' });
  app.use('/sign-in', readForm);
  addTokenSignIn(signInRoutes, signIn);

  app.use(requireSession(signIn, readForm), redirectMoved);
  // A corrected body, encoded as a form.
  app.use('/quarantine', express.urlencoded({ extended: false, limit: '1mb' }));
  app.use(readForm, requireFormToken);
  for (const name of ['console.js', 'charts.js', 'chart-library.js', 'icon.svg'] as const) {
    assets.get(`/assets/${name}`, serveAsset(name));
  }
  addSignOut(signInRoutes, signIn);
  for (const section of sections) if (section.worksInOutage) section.addTo(app, pageDependencies);
  app.use(requireDatabase, loadFrame(store.db));
  for (const section of sections) if (!section.worksInOutage) section.addTo(app, pageDependencies);

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
