import type { Request, RequestHandler, Response } from 'express';
import { readCookie, refreshCookie, sessionCookie, sessionOptions } from '../../sign-in/cookies.ts';
import { keepRefresh } from '../../sign-in/enter.ts';
import { clientAddressOf } from '../../sign-in/origin.ts';
import type { SessionStore } from '../../sign-in/session-store.ts';
import type { Session, User } from '../../sign-in/sessions.ts';
import type { SignInDependencies } from '../dependencies.ts';
import { entriesOf } from '../kept-form.tsx';
import type { Visit } from '../ui/context.ts';
import { sendSignIn } from './pages.tsx';

/** Reads the key of the cookies and the list of ended sessions, or why they cannot be read. */
export function readSessions(store: Pick<SessionStore, 'refresh'>): RequestHandler {
  return async (_req, res, next) => {
    res.locals.outage = await store.refresh();
    next();
  };
}

const actorIn = (req: Request, { id, name }: User) => ({ id, name, address: clientAddressOf(req) });

/**
 * Passes requests with a session; all others get the sign-in page and nothing else, which keeps what was posted.
 *
 * @param readForm parses a posted form
 */
export function requireSession(dependencies: SignInDependencies, readForm: RequestHandler): RequestHandler {
  const { config, sessions, recheck, frame, logAccess } = dependencies;

  const goesOn = async (req: Request, res: Response, session: Session): Promise<boolean> => {
    const { user } = session;
    if (!user.recheck) return true;
    const kept = readCookie(req.headers.cookie, refreshCookie) ?? '';
    const checked = await recheck?.check(session, kept);
    if (checked?.next) keepRefresh(req, res, checked.next);
    if (checked?.goesOn) return true;
    for (const name of [sessionCookie, refreshCookie]) res.clearCookie(name, sessionOptions(req));
    const filter = { with: 'identity provider', reason: 'no longer allowed' };
    if (checked?.isFirst) await logAccess({ actor: actorIn(req, user), action: 'sign-in failed', filter });
    return false;
  };

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
    const { reportTimezone: timezone, reportCurrency: currency } = config;
    res.locals.visit = {
      ...frame,
      timezone,
      currency,
      csrf,
      actor: actorIn(req, user),
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
