import { endSessionsOf, listSignedIn, type SignedIn, sessionS } from '../../store/sessions.ts';
import type { Section } from '../dependencies.ts';
import { BadInput } from '../errors.ts';
import { readForm, text } from '../read-form.ts';
import { PostButton } from '../ui/forms.tsx';
import { sendPage } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { Moment, Nothing } from '../ui/values.tsx';

export const section: Section = {
  addRoutes(routes, { db, logAccess }) {
    routes.get('/sessions', 'privacy', async (_req, res) => {
      const users = await listSignedIn(db);
      await logAccess(res, { action: 'audit', filter: { page: 'sessions' }, rows: users.length });
      sendPage(res, 'Sessions', <SessionsPage users={users} />);
    });

    routes.post('/sessions/end', 'privacy', async (req, res) => {
      const { user } = readForm(req.body, { user: text }).data;
      if (!user) throw new BadInput('The user is missing.');
      await db.transaction().execute(async (tx) => {
        await logAccess(res, { action: 'sessions end', filter: { user } }, tx);
        await endSessionsOf(tx, user);
      });
      res.redirect(303, '/console/sessions');
    });
  },
};

function SessionsPage({ users }: { users: readonly SignedIn[] }) {
  return (
    <>
      <p>
        Users with a session, which lasts {sessionS / 3600} hours. To keep somebody out, remove the role at
        the identity provider first, or change <code>ADMIN_TOKEN</code>.
      </p>
      <Table
        label="Users, the last to sign in first"
        rows={users}
        empty="Nobody is signed in."
        columns={[
          { head: 'User', cell: ({ user }) => <span class="id">{user}</span> },
          { head: 'Name', cell: ({ name }) => name ?? <Nothing /> },
          { head: 'Last sign-in', cell: ({ at }) => <Moment at={at} /> },
          { head: 'Address', cell: ({ address }) => address ?? <Nothing /> },
          {
            head: 'Sessions',
            cell: ({ user }) => (
              <PostButton action="/console/sessions/end" values={{ user }} kind="second">
                End all
              </PostButton>
            ),
          },
        ]}
      />
    </>
  );
}
