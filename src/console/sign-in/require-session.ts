import type { RequestHandler } from 'express';
import { addressOf } from '../record-access.ts';
import { readCookie, sessionCookie } from '../session.ts';
import type { Visit } from '../ui/context.ts';
import type { SignInDependencies } from './dependencies.ts';
import { sendSignIn } from './pages.tsx';

/** Passes requests with a session; all others get the sign-in page and nothing else. */
export function requireSession(dependencies: SignInDependencies): RequestHandler {
  const { sessions, timezone } = dependencies;
  return (req, res, next) => {
    const session = sessions.read(readCookie(req.headers.cookie, sessionCookie));
    if (!session) return sendSignIn(dependencies, req, res, 401);
    const { csrf, user } = session;
    const actor = { id: user.id, name: user.name, address: addressOf(req) };
    res.locals.visit = { timezone, csrf, actor, role: user.role } satisfies Visit;
    next();
  };
}
