import type { Routes } from '../guard.ts';
import { originOf } from '../origin.ts';
import { actorOf } from '../record-access.ts';
import { sessionCookie } from '../session.ts';
import { type SignInDependencies, sessionOptions } from './dependencies.ts';
import { sendForward } from './pages.tsx';
import { tokenUser } from './with-token.ts';

/** Ends the session, here and at the identity provider. */
export function addSignOut(routes: Routes, { provider, record }: SignInDependencies): void {
  routes.post('/sign-out', async (req, res) => {
    res.clearCookie(sessionCookie, sessionOptions(req));
    const actor = actorOf(res);
    await record({ actor, action: 'sign-out' });
    const address =
      actor.id === tokenUser.id ? undefined : await provider?.signOutAddress(`${originOf(req)}/console`);
    // Not a redirect: the policy for forms forbids one to another site.
    if (address) sendForward(res, 'Signed out', address);
    else res.redirect(303, '/console');
  });
}
