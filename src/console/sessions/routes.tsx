import { endSessionsOf, listSignedIn } from '../../store/sessions.ts';
import { BadInput } from '../errors.ts';
import { actorOf } from '../log-access.ts';
import { readForm, text } from '../read-form.ts';
import { defineSection } from '../section.ts';
import { sendPage } from '../ui/page.tsx';
import { SessionsPage } from './pages.tsx';

/** Who may have a session, with a button that ends all sessions of a user. */
export const section = defineSection({
  below: '/access-log',
  rights: {
    'GET /sessions': 'privacy',
    'POST /sessions/end': 'privacy',
  },
  addRoutes(routes, { db, logAccess, sessionStore }) {
    routes.get('/sessions', async (_req, res) => {
      const users = await listSignedIn(db);
      await logAccess({
        actor: actorOf(res),
        action: 'audit',
        filter: { page: 'sessions' },
        rows: users.length,
      });
      sendPage(res, { title: 'Sessions', back: true }, <SessionsPage users={users} />);
    });

    routes.post('/sessions/end', async (req, res) => {
      const { user } = readForm(req.body, { user: text }).data;
      if (!user) throw new BadInput('The user is missing.');
      await db.transaction().execute(async (tx) => {
        await logAccess({ actor: actorOf(res), action: 'sessions end', filter: { user } }, tx);
        await endSessionsOf(tx, user);
      });
      sessionStore.expire();
      res.redirect(303, '/console/sessions');
    });
  },
});
