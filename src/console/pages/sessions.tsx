import { BadInput, type Page } from '../page.ts';
import { readForm, text } from '../read-form.ts';
import { endSessions, listSessions, type Session, sessionMs } from '../sign-in/session.ts';
import { PostButton } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import { Moment, Nothing } from '../ui/values.tsx';

export const sessions: Page = (routes, { db, read, logAccess }) => {
  routes.get('/sessions', 'privacy', async (_req, res) => {
    const found = await read(listSessions);
    await logAccess(res, { action: 'audit', filter: { page: 'sessions' }, rows: found.length });
    sendPage(res, 'Who is signed in', <SessionsPage sessions={found} />);
  });

  routes.post('/sessions/end', 'privacy', async (req, res) => {
    const { user } = readForm(req.body, { user: text }).data;
    if (!user) throw new BadInput('The user is missing.');
    if (!(await read(listSessions)).some(({ actor }) => actor === user))
      return res.redirect(303, '/console/sessions');
    await logAccess(res, { action: 'sessions end', ids: { user } });
    await endSessions(db, 'actor', user);
    res.redirect(303, '/console/sessions');
  });
};

function SessionsPage({ sessions: rows }: { sessions: readonly Session[] }) {
  return (
    <>
      <p>
        A session lasts {sessionMs / 3_600_000} hours. To keep somebody out, remove the role at the identity
        provider first, or change <code>ADMIN_TOKEN</code>.
      </p>
      <Table
        label="Sessions, the last sign-in first"
        rows={rows}
        columns={[
          { head: 'User', cell: ({ actor }) => <span class="id">{actor}</span> },
          { head: 'Name', cell: ({ actor_name }) => actor_name ?? <Nothing /> },
          { head: 'Roles', cell: ({ roles }) => roles.join(', ') },
          { head: 'Signed in', cell: ({ begun_at }) => <Moment at={begun_at} /> },
          { head: 'Address', cell: ({ address }) => address },
          {
            head: 'Sessions',
            cell: ({ actor: user }) => (
              <PostButton action="/console/sessions/end" values={{ user }} text="End all of this user" />
            ),
          },
        ]}
      />
    </>
  );
}
