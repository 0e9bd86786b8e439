import { accessActions } from '../../privacy/access-log.ts';
import type { AccessEntry } from '../../privacy/audit.ts';
import type { ParsedForm } from '../read-form.ts';
import { Choice, Field, Submit } from '../ui/forms.tsx';
import { PageLinks, Table } from '../ui/table.tsx';
import { formatCount, Moment, Nothing } from '../ui/values.tsx';

interface AccessLogProps {
  parsed: Pick<ParsedForm<Record<never, never>>, 'entered' | 'faults'>;
  /** Undefined if the filter is invalid. */
  listed: { entries: AccessEntry[]; more: boolean } | undefined;
}

export function AccessLogPage({ parsed: { entered, faults }, listed }: AccessLogProps) {
  const moment = (label: string, name: string) => (
    <Field label={label} name={name} value={entered[name]} fault={faults[name]} type="datetime-local" />
  );
  const last = listed?.more && listed.entries.at(-1);
  const older = last && `/console/access-log?${new URLSearchParams({ ...entered, before: `${last.entry}` })}`;
  return (
    <>
      <p>
        Who saw or did what. Entries cannot be changed; reading them is an entry too.{' '}
        <code>npx receiver audit verify</code> checks that none was changed or removed.
      </p>
      <form method="get" action="/console/access-log" class="card">
        <div class="fields">
          <Field label="Actor" name="actor" value={entered.actor} fault={faults.actor} />
          <Choice label="Action" name="action" value={entered.action} options={accessActions} />
          {moment('From', 'since')}
          {moment('Before', 'until')}
        </div>
        <div class="actions">
          <Submit>Show</Submit>
          {Object.keys(entered).length > 0 && <a href="/console/access-log">Show all</a>}
        </div>
      </form>
      {listed && <Entries entries={listed.entries} />}
      <PageLinks older={older} />
    </>
  );
}

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
