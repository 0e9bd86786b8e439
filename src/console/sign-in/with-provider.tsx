import type { Request, Response } from 'express';
import { AuthorizationResponseError } from 'openid-client';
import { roles } from '../../common/config/value-types.ts';
import type { Core } from '../../receiver/feature.ts';
import type { Actor } from '../../receiver/store/log-access.ts';
import type { Routes } from '../page.ts';
import { sendBarePage } from '../ui/send-page.tsx';
import { originOf, ownPath } from './origin.ts';
import { type Attempt, faultOfProvider, type Provider } from './provider.ts';
import { cookieOptions, type Entrance, readCookie, type User } from './session.ts';

const attemptMs = 10 * 60_000;
const attemptCookie = 'receiver_console_sign_in';
const way = 'identity provider';

const refusals = {
  'no attempt': [400, 'This sign-in has expired, or another one was begun in this browser. Sign in again.'],
  refused: [403, 'The identity provider refused the sign-in.'],
  'provider failed': [503, 'The identity provider does not respond as it should. Try again later.'],
  'no role': [
    403,
    `Your account has none of the roles ${roles.join(', ')}: neither its claims roles and groups nor its e-mail address, if the claim email_verified is true, gives one.`,
  ],
} as const;
type Reason = keyof typeof refusals;

export type SendSignIn = (req: Request, res: Response, status: number, fault?: string) => void;

/** @param sendSignIn sends the sign-in page, with what went wrong */
export function addProviderSignIn(
  core: Core,
  routes: Routes,
  provider: Provider,
  entrance: Entrance,
  sendSignIn: SendSignIn,
): void {
  const { config, log } = core;
  // Lax: the browser comes back from another site, and has to send it.
  const attemptOptions = (req: Request) =>
    ({ ...cookieOptions(req, config), path: '/console/sign-in', sameSite: 'lax' }) as const;

  const refuse = async (req: Request, res: Response, reason: Reason, code = '', user?: Actor) => {
    const [status, text] = refusals[reason];
    await entrance.recordFailure(req, way, reason, user);
    sendSignIn(req, res, status, `${text} ${code}`.trim());
  };
  const refuseFault = (req: Request, res: Response, reason: Reason, error: unknown) => {
    const code = faultOfProvider(error);
    log.limited('warn', { code }, 'a sign-in with the identity provider failed');
    return refuse(req, res, reason, `(${code})`);
  };

  routes.get('/sign-in/start', 'anyone', async (req, res) => {
    try {
      const { address, attempt } = await provider.begin(`${originOf(req, config)}/console/sign-in/callback`);
      const content = { ...attempt, next: ownPath(req.query.next) };
      const value = Buffer.from(JSON.stringify(content)).toString('base64url');
      res.cookie(attemptCookie, value, { ...attemptOptions(req), maxAge: attemptMs });
      res.redirect(303, address.href);
    } catch (error) {
      await refuseFault(req, res, 'provider failed', error);
    }
  });

  routes.get('/sign-in/callback', 'anyone', async (req, res) => {
    res.clearCookie(attemptCookie, attemptOptions(req));
    const attempt = readAttempt(readCookie(req, attemptCookie));
    if (!attempt || attempt.state !== req.query.state) return refuse(req, res, 'no attempt');
    let account: User;
    try {
      account = await provider.finish(new URL(req.originalUrl, originOf(req, config)), attempt);
    } catch (error) {
      const reason = error instanceof AuthorizationResponseError ? 'refused' : 'provider failed';
      return refuseFault(req, res, reason, error);
    }
    if (account.roles.length === 0) return refuse(req, res, 'no role', '', account);
    await entrance.enter(req, res, account, way);
    // A page and no redirect: the browser would not send the new cookie along one that another site began.
    const next = ownPath(attempt.next);
    const forward = <meta http-equiv="refresh" content={`0; url=${next}`} />;
    sendBarePage(res, 200, 'Signed in', <a href={next}>Continue</a>, forward);
  });
}

function readAttempt(cookie = ''): (Attempt & { next: unknown }) | undefined {
  try {
    const attempt = JSON.parse(Buffer.from(cookie, 'base64url').toString());
    return typeof attempt?.state === 'string' ? attempt : undefined;
  } catch {
    return undefined;
  }
}
