import { type SignedIn, sessionS } from '../../store/sessions.ts';
import { PostButton } from '../ui/forms.tsx';
import { Table } from '../ui/table.tsx';
import { Moment, Nothing } from '../ui/values.tsx';

export function SessionsPage({ users }: { users: readonly SignedIn[] }) {
  return (
    <>
      <p>
        Users who have signed in within the last {sessionS / 3600} hours, which is the longest that a session
        lasts. To keep somebody out, remove the role at the identity provider first, or change{' '}
        <code>ADMIN_TOKEN</code>.
      </p>
      <Table
        label="Users, the last to sign in first"
        cards
        rows={users}
        empty="Nobody has signed in."
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
