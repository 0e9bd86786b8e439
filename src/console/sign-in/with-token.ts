import { TooManyRequests } from '../../common/rate-limit.ts';
import { isSameSecret } from '../../common/secret.ts';
import { enter, recordFailure, unlessAway } from '../../sign-in/enter.ts';
import { clientAddressOf, ownPath } from '../../sign-in/origin.ts';
import type { User } from '../../store/sessions.ts';
import type { SignInDependencies } from '../dependencies.ts';
import type { Routes } from '../guard.ts';
import { readHealth } from '../health/checks.tsx';
import { sendBarePage } from '../ui/page.tsx';
import { sendSignIn } from './pages.tsx';

/** Whoever has the admin token, for a small set-up and for emergencies. */
export const tokenUser: User = { id: 'admin-token', role: 'privacy' };

/**
 * Sign-in with the admin token. Once an address has reached the limit of failures, no token of it is compared until the
 * period ends: otherwise every guess would be tried, whatever the response.
 */
export function addTokenSignIn(routes: Routes, dependencies: SignInDependencies): void {
  const { config, attempts, log } = dependencies;
  const { adminToken } = config;
  routes.post('/sign-in', 'anyone', async (req, res) => {
    const { token, next } = (req.body ?? {}) as Record<string, unknown>;
    const given = typeof token === 'string' ? token.trim() : '';
    try {
      attempts['admin token'].check(clientAddressOf(req));
      if (adminToken && isSameSecret(given, adminToken)) {
        const enterNow = () => enter(dependencies, req, res, tokenUser, 'admin token');
        // There can be neither an entry of the access log nor a session without PostgreSQL.
        if (await unlessAway(res, enterNow)) return res.redirect(303, ownPath(next));
        log.limited('warn', {}, 'PostgreSQL is unavailable: the admin token has opened Health alone');
        return sendBarePage(res, 200, 'Health', await readHealth(dependencies, true));
      }
      await recordFailure(dependencies, req, 'admin token', 'wrong token');
    } catch (error) {
      if (!(error instanceof TooManyRequests)) throw error;
      res.setHeader('Retry-After', String(error.retryAfterS));
      const fault = `Too many wrong tokens. Try again in ${error.retryAfterS} seconds.`;
      return sendSignIn(dependencies, req, res, 429, fault);
    }
    log.limited('warn', {}, 'a sign-in to the console failed');
    sendSignIn(dependencies, req, res, 401, 'Wrong token.');
  });
}
