import type { Request, RequestHandler, Response } from 'express';
import { entriesOf } from '../kept-form.tsx';
import { addressOf } from '../record-access.ts';
import { readCookie, type Session, sessionCookie } from '../session.ts';
import type { Visit } from '../ui/context.ts';
import type { SignInDependencies } from './dependencies.ts';
import { sendSignIn } from './pages.tsx';

/**
 * Passes requests with a session; all others get the sign-in page and nothing else, which keeps what was posted.
 *
 * @param readForm parses a posted form
 */
export function requireSession(dependencies: SignInDependencies, readForm: RequestHandler): RequestHandler {
  const { sessions, recheck, timezone } = dependencies;

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
    const { csrf, user } = session;
    const actor = { id: user.id, name: user.name, address: addressOf(req) };
    res.locals.visit = { timezone, csrf, actor, role: user.role } satisfies Visit;
    next();
  };
}
