import type { RequestHandler } from 'express';
import { StoreUnavailable } from '../../receiver/store/circuit.ts';
import { readCookie, sessionCookie } from '../../sign-in/cookies.ts';
import { clientAddressOf } from '../../sign-in/origin.ts';
import { isUnavailable } from '../../store/faults.ts';
import type { SignInDependencies } from '../dependencies.ts';
import type { Visit } from '../ui/context.ts';
import { sendSignIn } from './pages.tsx';

/** Finds the session of a request; in an outage, as this receiver has read it last. */
export function readSession({
  sessions,
  hash,
  config,
  frame,
  circuit,
  log,
}: SignInDependencies): RequestHandler {
  const { reportTimezone: timezone, reportCurrency: currency } = config;
  return async (req, res, next) => {
    const cookie = readCookie(req.headers.cookie, sessionCookie);
    const session = cookie ? hash(cookie) : undefined;
    let user = session && sessions.recall(session);
    try {
      if (circuit.isOpen) throw new StoreUnavailable('PostgreSQL');
      user = session && (await sessions.read(session));
    } catch (error) {
      // The circuit logs an outage.
      const { code } = error as { code?: string };
      if (!(error instanceof StoreUnavailable || isUnavailable(error)))
        log.limited('error', { code }, 'sessions cannot be checked', { err: error });
      res.locals.outage = new StoreUnavailable('PostgreSQL', error);
    }
    if (session && user) {
      const { id, name, role } = user;
      const actor = { id, name: name ?? undefined, address: clientAddressOf(req) };
      res.locals.visit = { ...frame, timezone, currency, actor, role, session } satisfies Visit;
    }
    next();
  };
}

/** Passes requests with a session; all others get the sign-in page and nothing else. */
export function requireSession(dependencies: SignInDependencies): RequestHandler {
  return (req, res, next) => {
    if (res.locals.visit) return next();
    sendSignIn(dependencies, req, res, 401);
  };
}

/**
 * Passes requests while sessions can be read. What the routes after it show may be about patients.
 *
 * @throws StoreUnavailable
 */
export const requireDatabase: RequestHandler = (_req, res, next) => {
  if (res.locals.outage) throw res.locals.outage;
  next();
};
