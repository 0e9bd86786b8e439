import { sessionCookie, sessionOptions } from '../../sign-in/cookies.ts';
import { unlessAway } from '../../sign-in/enter.ts';
import { originOf } from '../../sign-in/origin.ts';
import { endSession, sessionS } from '../../store/sessions.ts';
import type { SignInDependencies } from '../dependencies.ts';
import type { Routes } from '../guard.ts';
import { actorOf, type Visit } from '../ui/context.ts';
import { sendForward, sendRefusal } from './pages.tsx';
import { tokenUser } from './with-token.ts';

const later =
  'This browser is signed out. PostgreSQL is unavailable, so that the session itself was not ended: it expires ' +
  `${sessionS / 3600} hours after its sign-in.`;

/** Ends the session: in this browser, in the database, and at the identity provider. */
export function addSignOut(routes: Routes, dependencies: SignInDependencies): void {
  const { provider, sessions, db, logAccess } = dependencies;
  routes.post('/sign-out', 'viewer', async (req, res) => {
    res.clearCookie(sessionCookie, sessionOptions(req));
    const { session } = res.locals.visit as Visit;
    sessions.forget(session);
    const end = () =>
      db.transaction().execute(async (tx) => {
        await endSession(tx, session);
        await logAccess({ actor: actorOf(res), action: 'sign-out' }, tx);
      });
    if (!(await unlessAway(res, end))) return sendRefusal(res, 503, later);
    const address =
      actorOf(res).id === tokenUser.id
        ? undefined
        : await provider?.signOutAddress(`${originOf(req)}/console`);
    // Not a redirect: the policy for forms forbids one to another site.
    if (address) sendForward(res, 'Signed out', address);
    else res.redirect(303, '/console');
  });
}
