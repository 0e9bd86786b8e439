import type { CookieOptions, Request, Response } from 'express';
import { AuthorizationResponseError } from 'openid-client';
import { roles } from '../../common/config/value-types.ts';
import type { Log } from '../../common/log.ts';
import { TooManyRequests } from '../../common/rate-limit.ts';
import type { Actor } from '../../receiver/store/log-access.ts';
import type { Routes } from '../page.ts';
import { readCookie, sessionOptions } from './cookies.ts';
import { originOf, ownPath } from './origin.ts';
import { type Attempt, faultOfProvider, type Provider } from './provider.ts';
import { sendForward, sendRefusal } from './send-sign-in.tsx';

const attemptMs = 10 * 60_000;
const attemptCookie = 'receiver_console_sign_in';

// Lax: the browser comes back from another site, and has to send it.
const attemptOptions = (req: Request): CookieOptions => ({
  ...sessionOptions(req),
  path: '/console/sign-in',
  sameSite: 'lax',
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

type User = Awaited<ReturnType<Provider['finish']>>;

interface Enter {
  log: Log;
  /** Begins a session, with its entry in the access log. */
  enter: (req: Request, res: Response, user: User) => Promise<void>;
  /** Counts and logs a failed sign-in. @throws TooManyRequests */
  recordFailure: (req: Request, reason: string, user?: Actor) => Promise<void>;
}

export function addProviderSignIn(routes: Routes, provider: Provider, given: Enter) {
  const { log, enter, recordFailure } = given;

  type Reason = keyof typeof refusals;
  const refuse = async (req: Request, res: Response, reason: Reason, cause = '', user?: Actor) => {
    const [status, text] = refusals[reason];
    try {
      await recordFailure(req, reason, user);
    } catch (error) {
      // The user is told the reason anyway: it reveals nothing.
      if (!(error instanceof TooManyRequests)) throw error;
    }
    sendRefusal(res, status, `${text} ${cause}`.trim());
  };

  /** @returns the cause, which reveals nothing of a user */
  const warn = (error: unknown): string => {
    const { code, text } = faultOfProvider(error);
    log.limited('warn', { code }, 'a sign-in with the identity provider failed', { cause: text });
    return `${text}.`;
  };

  routes.get('/sign-in/start', 'anyone', async (req, res) => {
    try {
      const { address, attempt } = await provider.begin(`${originOf(req)}/console/sign-in/callback`);
      const content = { ...attempt, next: ownPath(req.query.next) };
      const value = Buffer.from(JSON.stringify(content)).toString('base64url');
      res.cookie(attemptCookie, value, { ...attemptOptions(req), maxAge: attemptMs });
      res.redirect(303, address.href);
    } catch (error) {
      await refuse(req, res, 'provider failed', warn(error));
    }
  });

  routes.get('/sign-in/callback', 'anyone', async (req, res) => {
    res.clearCookie(attemptCookie, attemptOptions(req));
    const cookie = readCookie(req.headers.cookie, attemptCookie);
    const attempt = readAttempt(cookie);
    if (!attempt || attempt.state !== req.query.state) return refuse(req, res, 'no attempt');
    let user: User;
    try {
      user = await provider.finish(new URL(req.originalUrl, originOf(req)), attempt);
    } catch (error) {
      const reason = error instanceof AuthorizationResponseError ? 'refused' : 'provider failed';
      return refuse(req, res, reason, warn(error));
    }
    const { id, name, lacks } = user;
    if (user.roles.length === 0) {
      log.limited('warn', { lacks }, 'a user of the identity provider has no role');
      return refuse(req, res, 'no role', `It lacks ${lacks}.`, { id, name });
    }
    await enter(req, res, user);
    // The browser would not send the new cookie along a redirect that another site began.
    sendForward(res, 'Signed in', ownPath(attempt.next));
  });
}

/** What the browser has kept; the state in it must be that of the provider's answer. */
function readAttempt(cookie: string | undefined): (Attempt & { next: unknown }) | undefined {
  try {
    const attempt = JSON.parse(Buffer.from(cookie ?? '', 'base64url').toString());
    return typeof attempt?.state === 'string' ? attempt : undefined;
  } catch {
    return undefined;
  }
}
