import { TooManyRequests } from '../../rate-limit.ts';
import { isSameSecret } from '../../secret.ts';
import type { Routes } from '../guard.ts';
import type { User } from '../session.ts';
import type { SignInDependencies } from './dependencies.ts';
import { enter, recordFailure } from './enter.ts';
import { ownPath } from './own-path.ts';
import { sendSignIn } from './pages.tsx';

/** Whoever has the admin token, for a small set-up and for emergencies. */
export const tokenUser: User = { id: 'admin-token', role: 'privacy' };

/**
 * Sign-in with the admin token. The right one passes even if its address has reached the limit of failures: others
 * behind the same proxy may have caused them.
 */
export function addTokenSignIn(routes: Routes, dependencies: SignInDependencies): void {
  const { adminToken, log } = dependencies;
  routes.post('/sign-in', async (req, res) => {
    const { token, next } = (req.body ?? {}) as Record<string, unknown>;
    const given = typeof token === 'string' ? token.trim() : '';
    if (adminToken && isSameSecret(given, adminToken)) {
      await enter(dependencies, req, res, tokenUser, 'admin token');
      return res.redirect(303, ownPath(next));
    }
    try {
      await recordFailure(dependencies, req, 'admin token', 'wrong token');
    } catch (error) {
      if (!(error instanceof TooManyRequests)) throw error;
      res.setHeader('Retry-After', String(error.retryAfterS));
      const fault = `Too many wrong tokens. Try again in ${error.retryAfterS} seconds.`;
      return sendSignIn(dependencies, req, res, 429, { fault });
    }
    log.limited('warn', {}, 'a sign-in to the console failed');
    sendSignIn(dependencies, req, res, 401, { fault: 'Wrong token.' });
  });
}
