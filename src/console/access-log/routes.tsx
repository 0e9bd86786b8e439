import { z } from 'zod';
import { accessActions } from '../../privacy/log/access-log.ts';
import { type AccessEntry, listAccess } from '../../privacy/log/audit.ts';
import type { Section } from '../dependencies.ts';
import { choice, localTime, parseForm, readForm, text } from '../read-form.ts';
import { takePage } from '../store.ts';
import { Filters } from '../ui/filters.tsx';
import { hrefTo } from '../ui/links.ts';
import { sendPage } from '../ui/page.tsx';
import { PageLinks, Table } from '../ui/table.tsx';
import { formatCount, Moment, Nothing } from '../ui/values.tsx';

const size = 50;

export const section: Section = {
  addRoutes(routes, { timezone, db, logAccess }) {
    const shape = {
      actor: text.meta({ label: 'Actor' }),
      action: choice('Action', accessActions),
      since: localTime(timezone, 'From'),
      until: localTime(timezone, 'Before'),
    };
    routes.get('/access-log', 'privacy', async (req, res) => {
      const { data, status, ...shown } = parseForm(req.query, shape);
      const { data: place } = readForm(req.query, { before: z.coerce.number().int().positive() });
      const filter = { ...data, ...place };
      const listed = status === 200 ? takePage(await listAccess(db, filter, size + 1), size) : undefined;
      if (listed) await logAccess(res, { action: 'audit', filter, rows: listed.rows.length });
      const last = listed?.more && listed.rows.at(-1);
      const page = (
        <>
          <p>
            Who saw or did what. Entries cannot be changed; reading them is an entry too.{' '}
            <code>npx receiver audit verify</code> checks that none was changed or removed.{' '}
            <a href="/console/sessions">Sessions</a> lists who may be signed in, and ends their sessions.
          </p>
          <Filters action="/console/access-log" {...shown} />
          {listed && <Entries entries={listed.rows} />}
          <PageLinks older={last && hrefTo('/access-log', { ...shown.entered, before: `${last.entry}` })} />
        </>
      );
      sendPage(res, 'Access log', page, { status });
    });
  },
};

function Entries({ entries }: { entries: readonly AccessEntry[] }) {
  return (
    <Table
      label="Entries, newest first"
      rows={entries}
      empty="No matching entries."
      columns={[
        { head: 'Entry', cell: ({ entry }) => formatCount(entry), numeric: true },
        { head: 'Time', cell: ({ at }) => <Moment at={at} /> },
        { head: 'Actor', cell: (entry) => <Who {...entry} /> },
        { head: 'Address', cell: ({ address }) => address ?? <Nothing /> },
        { head: 'Action', cell: ({ action }) => action },
        {
          head: 'Rows',
          cell: ({ rows }) => (rows === null ? <Nothing /> : formatCount(rows)),
          numeric: true,
        },
        { head: 'Patients', cell: (entry) => <Patients {...entry} /> },
        { head: 'Filter', cell: ({ filter }) => <Filter filter={filter} />, wide: true },
      ]}
    />
  );
}

function Who({ actor, actor_name }: AccessEntry) {
  if (!actor_name) return <span class="id">{actor}</span>;
  return (
    <>
      {actor_name}
      <div class="id">{actor}</div>
    </>
  );
}

function Patients({ patients, patient_count }: AccessEntry) {
  if (patient_count === 0) return <Nothing />;
  const more = patient_count - patients.length;
  return (
    <>
      {patients.map((patient) => (
        <div class="id" key={patient}>
          {patient}
        </div>
      ))}
      {more > 0 && <div>… and {formatCount(more)} more</div>}
    </>
  );
}

function Filter({ filter }: Pick<AccessEntry, 'filter'>) {
  const given = Object.entries(filter);
  if (given.length === 0) return <Nothing />;
  return given.map(([name, value]) => (
    <div key={name}>
      {name}: {typeof value === 'string' ? value : JSON.stringify(value)}
    </div>
  ));
}
