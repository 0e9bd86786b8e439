import express, { type ErrorRequestHandler, type Response } from 'express';
import { describeOutage } from '../health/faults.ts';
import { createLogAccess } from '../privacy/log/log-or-refuse.ts';
import { enter, recordFailure } from '../sign-in/enter.ts';
import { publicUrlSetting } from '../sign-in/origin.ts';
import { createProvider } from '../sign-in/provider.ts';
import { createRights } from '../sign-in/rights.ts';
import { requireSameOrigin } from '../sign-in/same-origin.ts';
import { hashOf } from '../sign-in/sessions.ts';
import { openStore } from '../store/console-store.ts';
import { isUnavailable } from '../store/faults.ts';
import { serveAsset } from './assets.ts';
import type { ConsoleDependencies, LogVisit } from './dependencies.ts';
import { PageNotFound } from './errors.ts';
import { loadFrame } from './frame.ts';
import { guardRoutes } from './guard.ts';
import { pageHeaders } from './headers.ts';
import { navigation } from './navigation.ts';
import { sections } from './sections.ts';
import { readSession, requireDatabase, requireSession } from './sign-in/require-session.ts';
import { addSignOut } from './sign-in/sign-out.ts';
import { addProviderSignIn } from './sign-in/with-provider.ts';
import { addTokenSignIn } from './sign-in/with-token.ts';
import { actorOf } from './ui/context.ts';
import { sendError } from './ui/error-page.tsx';

/** Whether somebody has signed in, or could but for the outage. */
const isKnown = (res: Response) => Boolean(res.locals.visit ?? res.locals.entering);

export function openConsole(dependencies: ConsoleDependencies) {
  const { config, log } = dependencies;
  const { adminToken, oidc, publicUrl, erasure, downloads, reportTimezone: timezone } = config;
  const { trustProxy } = config.authentication;
  const { close, ...store } = openStore(dependencies);
  const logAccess = createLogAccess(store.db, log);
  const provider = oidc && createProvider(oidc);
  const hash = (cookie: string) => hashOf(cookie, [adminToken, oidc?.clientSecret]);
  const rights = createRights();
  const frame = { navigation, may: rights.may };
  const signIn = { ...dependencies, db: store.db, hash, provider, frame, logAccess };

  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', trustProxy).set(publicUrlSetting, publicUrl);
  const routes = guardRoutes(app, rights);
  const logVisit: LogVisit = (res, access, on) => logAccess({ actor: actorOf(res), ...access }, on);
  const pageDependencies = {
    ...dependencies,
    erasure,
    downloads,
    timezone,
    ...store,
    logAccess: logVisit,
  };
  const addSections = (inOutage: boolean) => {
    for (const { worksInOutage = false, addRoutes } of sections) {
      if (worksInOutage === inOutage) addRoutes(routes, pageDependencies);
    }
  };
  app.use(pageHeaders, requireSameOrigin(log));
  // The sign-in page has them too.
  for (const name of ['console.css', 'icon.svg'] as const) {
    routes.get(`/assets/${name}`, 'anyone', serveAsset(name));
  }
  app.use(readSession(signIn));
  if (provider)
    addProviderSignIn(routes, provider, {
      log,
      enter: (req, res, { id, name, role }) =>
        enter(signIn, req, res, { id, name, role }, 'identity provider'),
      recordFailure: (req, ...failure) => recordFailure(signIn, req, 'identity provider', ...failure),
    });
  const readForm = express.urlencoded({ extended: false, limit: '64kb' });
  app.use('/sign-in', readForm);
  addTokenSignIn(routes, signIn);

  app.use(requireSession(signIn));
  // A corrected body, encoded as a form.
  app.use('/quarantine', express.urlencoded({ extended: false, limit: '1mb' }));
  app.use(readForm);
  routes.get('/assets/console.js', 'viewer', serveAsset('console.js'));
  addSignOut(routes, signIn);
  app.use(loadFrame(store.db));
  addSections(true);
  app.use(requireDatabase);
  addSections(false);

  app.use(() => {
    throw new PageNotFound('There is no such page.');
  });
  const onError: ErrorRequestHandler = async (error, _req, res, _next) => {
    const isAway = dependencies.circuit.isOpen || res.locals.outage || isUnavailable(error);
    const outage = isAway && isKnown(res) ? await describeOutage(dependencies.fallback) : undefined;
    if (sendError(res, error, outage) !== 500) return;
    log.limited('error', { reason: error?.name, code: error?.code }, 'a console page failed', { err: error });
  };
  app.use(onError);
  return { app, close };
}
