import type { RequestHandler } from 'express';
import { addressOf } from '../record-access.ts';
import { readCookie, sessionCookie } from '../session.ts';
import type { SessionStore } from '../session-store.ts';
import type { Visit } from '../ui/context.ts';
import type { SignInDependencies } from './dependencies.ts';
import { sendSignIn } from './pages.tsx';

/** Reads the key of the cookies and the list of ended sessions, or why they cannot be read. */
export function readSessions(store: Pick<SessionStore, 'refresh'>): RequestHandler {
  return async (_req, res, next) => {
    res.locals.outage = await store.refresh();
    next();
  };
}

/** Passes requests with a session; all others get the sign-in page and nothing else. */
export function requireSession(dependencies: SignInDependencies): RequestHandler {
  const { sessions, timezone } = dependencies;
  return (req, res, next) => {
    const session = sessions.read(readCookie(req.headers.cookie, sessionCookie));
    if (!session) return sendSignIn(dependencies, req, res, 401);
    const { id, csrf, user } = session;
    const actor = { id: user.id, name: user.name, address: addressOf(req) };
    res.locals.visit = { timezone, csrf, actor, role: user.role, session: id } satisfies Visit;
    next();
  };
}

/**
 * Passes requests while it is known which sessions were ended. What the routes after it show may be about patients.
 *
 * @throws StoreUnavailable
 */
export const requireDatabase: RequestHandler = (_req, res, next) => {
  if (res.locals.outage) throw res.locals.outage;
  next();
};
