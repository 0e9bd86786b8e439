import type { CookieOptions, Request, Response } from 'express';
import { AuthorizationResponseError } from 'openid-client';
import type { Actor } from '../../privacy/access-log.ts';
import { TooManyRequests } from '../../rate-limit.ts';
import type { Routes } from '../guard.ts';
import { isSecure, originOf } from '../origin.ts';
import { roles } from '../rights.ts';
import { readCookie } from '../session.ts';
import type { SignInDependencies } from './dependencies.ts';
import { enter, recordFailure } from './enter.ts';
import { ownPath } from './own-path.ts';
import { sendForward, sendRefusal } from './pages.tsx';
import type { Attempt, Identity, Provider } from './provider.ts';

const attemptMs = 10 * 60_000;
const attemptCookie = 'receiver_console_sign_in';

// Lax: the browser comes back from another site, and has to send it.
const attemptOptions = (req: Request): CookieOptions => ({
  path: '/console/sign-in',
  httpOnly: true,
  sameSite: 'lax',
  secure: isSecure(req),
});

const refusals = {
  'no attempt': [400, 'This sign-in has expired, or another one was begun in this browser. Sign in again.'],
  refused: [403, 'The identity provider refused the sign-in.'],
  'provider failed': [
    503,
    'Nobody can sign in with an account now: the identity provider does not respond as it should. Try again later.',
  ],
  'no role': [403, `Your account has none of the roles ${roles.join(', ')}. One of them is needed.`],
} as const;

/** Sign-in with the identity provider: the way there, and the way back. */
export function addProviderSignIn(
  routes: Routes,
  provider: Provider,
  dependencies: SignInDependencies,
): void {
  const { values, log } = dependencies;

  const refuse = async (req: Request, res: Response, reason: keyof typeof refusals, user?: Actor) => {
    const [status, text] = refusals[reason];
    try {
      await recordFailure(dependencies, req, 'identity provider', reason, user);
    } catch (error) {
      // The user is told the reason anyway: it reveals nothing.
      if (!(error instanceof TooManyRequests)) throw error;
    }
    sendRefusal(res, status, text);
  };

  const warn = (error: unknown) => {
    const { message, code, cause } = error as Error & { code?: string; cause?: { code?: string } };
    const kind = { code: cause?.code ?? code };
    log.limited('warn', kind, 'a sign-in with the identity provider failed', { error: message });
  };

  routes.get('/sign-in/start', async (req, res) => {
    try {
      const { address, attempt } = await provider.begin(`${originOf(req)}/console/sign-in/callback`);
      const content = { ...attempt, next: ownPath(req.query.next) };
      const value = values.write('attempt', content, Date.now() + attemptMs);
      res.cookie(attemptCookie, value, { ...attemptOptions(req), maxAge: attemptMs });
      res.redirect(303, address.href);
    } catch (error) {
      warn(error);
      await refuse(req, res, 'provider failed');
    }
  });

  routes.get('/sign-in/callback', async (req, res) => {
    res.clearCookie(attemptCookie, attemptOptions(req));
    const cookie = readCookie(req.headers.cookie, attemptCookie);
    const attempt = values.read<Attempt & { next: string }>('attempt', cookie, Date.now());
    if (!attempt || attempt.state !== req.query.state) return refuse(req, res, 'no attempt');
    let identity: Identity;
    try {
      identity = await provider.finish(new URL(req.originalUrl, originOf(req)), attempt);
    } catch (error) {
      warn(error);
      return refuse(req, res, error instanceof AuthorizationResponseError ? 'refused' : 'provider failed');
    }
    const { id, name, role, expires } = identity;
    if (!role) return refuse(req, res, 'no role', { id, name });
    await enter(dependencies, req, res, { id, name, role }, 'identity provider', expires);
    // The browser would not send the new cookie along a redirect that another site began.
    sendForward(res, 'Signed in', attempt.next);
  });
}
