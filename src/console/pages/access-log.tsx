import { type AccessEntry, type AccessFilter, listAccess } from '../../privacy/audit.ts';
import { subjectsLike } from '../../privacy/patient.ts';
import { BadInput, type Page } from '../page.ts';
import { localTime, parseForm, readForm, text } from '../read-form.ts';
import { endSessions, listSessions, sessionMs } from '../sign-in/session.ts';
import { hrefTo } from '../ui/context.ts';
import { Filters } from '../ui/filters.tsx';
import { EntryForm, PostButton } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount, Moment, Nothing } from '../ui/values.tsx';

const maxEntries = 500;

export const accessLog: Page = (routes, { config: { reportTimezone: timezone }, read, logAccess }) => {
  const shape = {
    actor: text.meta({ label: 'Person' }),
    action: text.meta({ label: 'Action' }),
    since: localTime(timezone, 'From'),
    until: localTime(timezone, 'Before'),
  };
  const list = (filter: AccessFilter) => read((db) => listAccess(db, filter, maxEntries));

  routes.get('/access-log', 'privacy', async (req, res) => {
    const { data, status, ...form } = parseForm(req.query, shape);
    const entries = status === 200 ? await list(data) : [];
    const { actor, ...filter } = entries.length > 0 ? data : {};
    await logAccess(res, { action: 'audit', filter, ids: { actor }, rows: entries.length });
    const content = (
      <>
        <p>
          Who saw or did what. Reading it is an entry, too. <a href={hrefTo('/sessions')}>Who is signed in</a>
        </p>
        <EntryForm
          action="/console/access-log"
          fields={[{ name: 'patient', label: 'Patient (id): who has seen the data', autocomplete: 'off' }]}
          submit="Find"
        />
        <Filters action="/console/access-log" {...form} />
        {entries.length === maxEntries && (
          <p class="note">The newest {formatCount(maxEntries)}. For older ones choose a time before.</p>
        )}
        <Entries entries={entries} />
      </>
    );
    sendPage(res, 'Access log', content, { status });
  });

  // Posted, so that the id of a patient is in no address.
  routes.post('/access-log', 'privacy', async (req, res) => {
    const { patient } = readForm(req.body, { patient: text }).data;
    if (!patient) throw new BadInput('Enter the id of a patient.');
    const subjects = await read((db) => subjectsLike(db, patient));
    const entries = await list({ subjects });
    await logAccess(res, { action: 'audit', subjects, rows: entries.length });
    const content = (
      <>
        <p class="note">
          Only entries about the patient {patient}. <a href={hrefTo('/access-log')}>All entries</a>
        </p>
        <Entries entries={entries} empty="Nobody with this id is in the log." />
      </>
    );
    sendPage(res, 'Access log', content);
  });
};

export function Entries({ entries, empty }: { entries: readonly AccessEntry[]; empty?: string }) {
  return (
    <Table
      label="Entries, newest first"
      rows={entries}
      empty={empty ?? 'No matching entries.'}
      columns={[
        { head: 'Time', cell: ({ at }) => <Moment at={at} /> },
        {
          head: 'Who',
          cell: ({ actor, actor_name }) => (
            <a href={hrefTo('/access-log', { actor })} title={actor}>
              {actor_name ?? actor}
            </a>
          ),
        },
        { head: 'Address', cell: ({ address }) => address ?? <Nothing /> },
        { head: 'Action', cell: ({ action }) => action },
        {
          head: 'Rows',
          cell: ({ rows }) => (rows === null ? <Nothing /> : formatCount(rows)),
          numeric: true,
        },
        { head: 'Patient ids', cell: ({ patients }) => patients ?? 'hundreds', numeric: true },
        {
          head: 'Filter',
          cell: ({ filter }) =>
            Object.entries(filter).map(([name, value]) => (
              <div key={name}>
                {name}: {typeof value === 'string' ? value : JSON.stringify(value)}
              </div>
            )),
          wide: true,
        },
      ]}
    />
  );
}

export const sessions: Page = (routes, { db, read, logAccess }) => {
  routes.get('/sessions', 'privacy', async (_req, res) => {
    const rows = await read(listSessions);
    await logAccess(res, { action: 'audit', filter: { page: 'sessions' }, rows: rows.length });
    const content = (
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
    sendPage(res, 'Who is signed in', content);
  });

  routes.post('/sessions/end', 'privacy', async (req, res) => {
    const { user } = readForm(req.body, { user: text }).data;
    if (!user) throw new BadInput('The user is missing.');
    if ((await read(listSessions)).some(({ actor }) => actor === user)) {
      await logAccess(res, { action: 'sessions end', ids: { user } });
      await endSessions(db, 'actor', user);
    }
    res.redirect(303, '/console/sessions');
  });
};
