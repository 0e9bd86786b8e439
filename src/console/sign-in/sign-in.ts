import type { Request, RequestHandler, Response } from 'express';
import { roles } from '../../common/config/value-types.ts';
import { rateLimit, TooManyRequests } from '../../common/rate-limit.ts';
import { isSameSecret } from '../../common/secrets.ts';
import type { Core } from '../../receiver/feature.ts';
import { addressOf } from '../../receiver/http/access.ts';
import { type Actor, logAccess } from '../../receiver/store/log-access.ts';
import type { Routes } from '../page.ts';
import { actorOf, type Visit } from '../ui/context.ts';
import { hashOf, newSession, readCookie, sessionCookie, sessionOptions } from './cookies.ts';
import { originOf, ownPath } from './origin.ts';
import { createProvider } from './provider.ts';
import { sendForward, sendSignIn } from './send-sign-in.tsx';
import { beginSession, endSessions, readSession, type SignedIn, sessionMs } from './session-table.ts';
import { addProviderSignIn } from './with-provider.ts';

type Way = 'admin token' | 'identity provider';

/** Sign-in with ADMIN_TOKEN and by OpenID Connect, sessions and sign-out. */
export function createSignIn(core: Core) {
  const { config, db, log } = core;
  const { adminToken, oidc } = config;
  const { trustProxy } = config.authentication;
  const provider = oidc && createProvider(oidc);
  const hash = (cookie: string) => hashOf(cookie, [adminToken, oidc?.clientSecret]);
  const failures = (): ReturnType<typeof rateLimit> => rateLimit({ points: 10, durationS: 300 });
  const attempts: Record<Way, ReturnType<typeof rateLimit>> = {
    'admin token': failures(),
    'identity provider': failures(),
  };

  const enter = async (req: Request, res: Response, user: SignedIn, way: Way) => {
    const address = addressOf(req, trustProxy);
    const cookie = newSession();
    const { id, name, roles } = user;
    const actor = { id, name: name ?? undefined, address };
    await logAccess(core, { actor, action: 'sign-in', filter: { with: way, roles } });
    await beginSession(db, hash(cookie), user, address);
    res.cookie(sessionCookie, cookie, { ...sessionOptions(req), maxAge: sessionMs });
  };
  const entries = rateLimit({ points: 100, durationS: 3_600 });
  /** @throws TooManyRequests for what an address tries beyond its limit */
  const recordFailure = async (req: Request, way: Way, reason: string, user: Actor = { id: 'unknown' }) => {
    const address = addressOf(req, trustProxy);
    attempts[way].consume(address);
    log.limited('warn', { with: way, reason }, 'a sign-in to the console failed');
    try {
      // Somebody may have any number of addresses, and would fill the access log.
      entries.consume('all');
    } catch {
      return;
    }
    const actor = { ...user, address };
    await logAccess(core, { actor, action: 'sign-in failed', filter: { with: way, reason } });
  };

  const signInWithToken: RequestHandler = async (req, res) => {
    const { token, next } = req.body as Record<string, unknown>;
    try {
      // Otherwise a guess beyond the limit would be tried, whatever the response.
      attempts['admin token'].check(addressOf(req, trustProxy));
      if (adminToken && typeof token === 'string' && isSameSecret(token.trim(), adminToken)) {
        await enter(req, res, { id: 'admin-token', roles }, 'admin token');
        return res.redirect(303, ownPath(next));
      }
      await recordFailure(req, 'admin token', 'wrong token');
    } catch (error) {
      if (!(error instanceof TooManyRequests)) throw error;
      res.setHeader('Retry-After', String(error.retryAfterS));
      const fault = `Too many wrong tokens. Try again in ${error.retryAfterS} seconds.`;
      return sendSignIn({ config, provider }, req, res, 429, fault);
    }
    sendSignIn({ config, provider }, req, res, 401, 'That token is not right.');
  };

  return {
    addSignIn: (routes: Routes) => {
      if (provider)
        addProviderSignIn(routes, provider, {
          log,
          enter: (req, res, user) => enter(req, res, user, 'identity provider'),
          recordFailure: (req, ...failure) => recordFailure(req, 'identity provider', ...failure),
        });
      routes.post('/sign-in', 'anyone', signInWithToken);
    },
    /** Passes requests with a session; all others get the sign-in page and nothing else. */
    requireSession:
      (visitOf: (user: SignedIn) => Omit<Visit, 'actor' | 'session'>): RequestHandler =>
      async (req, res, next) => {
        const cookie = readCookie(req.headers.cookie, sessionCookie);
        const session = cookie ? hash(cookie) : undefined;
        const user = session && (await readSession(core, session));
        if (!user) return sendSignIn({ config, provider }, req, res, 401);
        const actor = { id: user.id, name: user.name ?? undefined, address: addressOf(req, trustProxy) };
        res.locals.visit = { ...visitOf(user), actor, session } satisfies Visit;
        next();
      },
    addSignOut: (routes: Routes) =>
      routes.post('/sign-out', 'viewer', async (req, res) => {
        const actor = actorOf(res);
        res.clearCookie(sessionCookie, sessionOptions(req));
        // Back must not show what was there.
        res.setHeader('Clear-Site-Data', '"cache"');
        await endSessions(db, { hash: (res.locals.visit as Visit).session });
        await logAccess(core, { actor, action: 'sign-out' });
        const isAtProvider = actor.id !== 'admin-token';
        const address = isAtProvider && (await provider?.signOutAddress(`${originOf(req)}/console`));
        // Not a redirect: the policy for forms forbids one to another site.
        if (address) sendForward(res, 'Signed out', address);
        else res.redirect(303, '/console');
      }),
  };
}
