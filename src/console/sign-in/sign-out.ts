import { refreshCookie, sessionCookie, sessionOptions } from '../../sign-in/cookies.ts';
import { unlessAway } from '../../sign-in/enter.ts';
import { originOf } from '../../sign-in/origin.ts';
import { endSession } from '../../store/sessions.ts';
import type { SignInDependencies } from '../dependencies.ts';
import type { Routes } from '../guard.ts';
import { actorOf, type Visit } from '../ui/context.ts';
import { sendForward, sendRefusal } from './pages.tsx';
import { tokenUser } from './with-token.ts';

const later =
  'This browser is signed out. PostgreSQL is unavailable, so the session ends at other receivers once it is available.';

/**
 * Ends the session: in this browser and at this receiver at once, in the database, and at the identity provider. Where the
 * database is unavailable, this receiver writes it later.
 */
export function addSignOut(routes: Routes, dependencies: SignInDependencies): void {
  const { provider, sessionStore, db, logAccess, log } = dependencies;
  routes.post('/sign-out', 'viewer', async (req, res) => {
    for (const name of [sessionCookie, refreshCookie]) res.clearCookie(name, sessionOptions(req));
    const { session } = res.locals.visit as Visit;
    sessionStore.end(session);
    const end = () =>
      db.transaction().execute(async (tx) => {
        await endSession(tx, session);
        await logAccess({ actor: actorOf(res), action: 'sign-out' }, tx);
      });
    if (!(await unlessAway(res, end))) {
      log.limited('warn', {}, 'PostgreSQL is unavailable: a session ends at this receiver first');
      return sendRefusal(res, 503, later);
    }
    const address =
      actorOf(res).id === tokenUser.id
        ? undefined
        : await provider?.signOutAddress(`${originOf(req)}/console`);
    // Not a redirect: the policy for forms forbids one to another site.
    if (address) sendForward(res, 'Signed out', address);
    else res.redirect(303, '/console');
  });
}
