import type { Request, RequestHandler, Response } from 'express';
import type { SessionStore } from '../../sign-in/session-store.ts';
import { entriesOf } from '../kept-form.tsx';
import { clientAddressOf } from '../log-access.ts';
import { readCookie, type Session, sessionCookie } from '../session.ts';
import type { Visit } from '../ui/context.ts';
import type { SignInDependencies } from './enter.ts';
import { sendSignIn } from './pages.tsx';

/** Reads the key of the cookies and the list of ended sessions, or why they cannot be read. */
export function readSessions(store: Pick<SessionStore, 'refresh'>): RequestHandler {
  return async (_req, res, next) => {
    res.locals.outage = await store.refresh();
    next();
  };
}

/**
 * Passes requests with a session; all others get the sign-in page and nothing else, which keeps what was posted.
 *
 * @param readForm parses a posted form
 */
export function requireSession(dependencies: SignInDependencies, readForm: RequestHandler): RequestHandler {
  const { config, sessions, recheck, frame } = dependencies;

  const goesOn = async (req: Request, res: Response, session: Session) =>
    !session.user.recheck || (recheck?.passes(req, res, session) ?? false);

  return async (req, res, next) => {
    const session = sessions.read(readCookie(req.headers.cookie, sessionCookie));
    if (!session || !(await goesOn(req, res, session))) {
      // One that cannot be read, or is too large, is not kept.
      return readForm(req, res, () => {
        const entries = entriesOf(req.body);
        const kept = { action: req.baseUrl + req.path, entries };
        sendSignIn(dependencies, req, res, 401, entries.length > 0 ? { kept } : {});
      });
    }
    const { id, csrf, user } = session;
    const actor = { id: user.id, name: user.name, address: clientAddressOf(req) };
    const { reportTimezone: timezone, reportCurrency: currency } = config;
    res.locals.visit = {
      ...frame,
      timezone,
      currency,
      csrf,
      actor,
      role: user.role,
      session: id,
    } satisfies Visit;
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
