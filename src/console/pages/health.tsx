import { readChecks } from '../../operations/read-checks.ts';
import type { Check } from '../../receiver/feature.ts';
import { BadInput, hasRole, type Page } from '../page.ts';
import { readForm, text } from '../read-form.ts';
import { endSessions, listSessions, sessionMs } from '../sign-in/session.ts';
import { hrefTo } from '../ui/context.ts';
import { PostButton } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Badge, formatCountOf, Moment, Nothing, Sums } from '../ui/values.tsx';

const states = { fail: 'Broken', warn: 'To look at', ok: 'Fine' };

type Session = Awaited<ReturnType<typeof listSessions>>[number];

export const health: Page = (routes, core) => {
  const { db, read, logAccess } = core;
  routes.get('/health', 'viewer', async (_req, res) => {
    const checks = await readChecks(core);
    const sessions = hasRole(res, 'privacy') ? await read(listSessions) : undefined;
    sendPage(res, 'Health', <Health {...{ checks, sessions }} />);
  });

  routes.post('/sessions/end', 'privacy', async (req, res) => {
    const { user } = readForm(req.body, { user: text });
    if (!user) throw new BadInput('The user is missing.');
    if ((await read(listSessions)).some(({ actor }) => actor === user)) {
      await logAccess(res, { action: 'sessions end', ids: { user } });
      await endSessions(db, 'actor', user);
    }
    res.redirect(303, `${hrefTo('/health')}#sessions`);
  });
};

interface HealthProps {
  checks: readonly Check[];
  /** Undefined: the role may not see them. */
  sessions: readonly Session[] | undefined;
}

function Health({ checks, sessions }: HealthProps) {
  const working = checks.filter(({ status }) => status === 'ok');
  const others = checks.filter(({ status }) => status !== 'ok');
  return (
    <>
      <Sums
        sums={Object.entries(states).map(([state, label]) => ({
          value: checks.filter(({ status }) => status === state).length,
          label: label.toLowerCase(),
        }))}
      />
      <Table label="Checks, the most urgent first" rows={others} columns={columns} />
      <details open={others.length === 0}>
        <summary>{formatCountOf(working.length, ['check', 'checks'])} without a fault</summary>
        <Table label="Checks without a fault" rows={working} columns={columns.slice(0, 2)} />
      </details>
      <p>
        <a href={hrefTo('/callbacks')}>Callbacks, with what failed or was rejected</a> ·{' '}
        <a href={hrefTo('/names')}>Names of businesses, clinics and doctors</a>
      </p>
      {sessions && <Sessions sessions={sessions} />}
    </>
  );
}

const columns: readonly Column<Check>[] = [
  ['State', ({ status }) => <Badge state={status}>{states[status]}</Badge>],
  [
    'Check',
    ({ name, about, title, detail, since }) => (
      <>
        {title}
        {detail && <div class="soft">{detail}</div>}
        <div class="note">
          {[name, about].filter(Boolean).join(': ')}
          {since && ', since '}
          {since && <Moment at={since} />}
        </div>
      </>
    ),
    'wide',
  ],
  ['What to do', ({ todo }) => todo, 'wide'],
];

function Sessions({ sessions }: { sessions: readonly Session[] }) {
  const end = { action: hrefTo('/sessions/end'), least: 'privacy', text: 'End all of this user' } as const;
  return (
    <>
      <h2 id="sessions">Who is signed in</h2>
      <p class="note">
        A session lasts {sessionMs / 3_600_000} hours. To keep somebody out, remove the role at the identity
        provider first, or change <code>ADMIN_TOKEN</code>.
      </p>
      <Table
        label="Sessions, the last sign-in first"
        rows={sessions}
        columns={[
          ['Name', ({ actor, actor_name }) => <span title={actor}>{actor_name ?? actor}</span>],
          ['Roles', ({ roles }) => roles.join(', ')],
          ['Signed in', ({ begun_at }) => <Moment at={begun_at} />],
          ['Address', ({ address }) => address || <Nothing />],
          ['Sessions', ({ actor: user }) => <PostButton {...end} values={{ user }} />],
        ]}
      />
    </>
  );
}
