import type { AccessEntry } from '../../privacy/log/audit.ts';
import { hrefTo } from '../ui/links.ts';
import { type Column, Table } from '../ui/table.tsx';
import { formatCount, Moment, Nothing } from '../ui/values.tsx';

type EntryColumn = Column<AccessEntry>;

const first: EntryColumn[] = [
  { head: 'Time', cell: ({ at }) => <Moment at={at} /> },
  { head: 'Who', cell: (entry) => <Who {...entry} /> },
];

export const Entries = ({ entries }: { entries: readonly AccessEntry[] }) => (
  <Table
    label="Entries, newest first"
    rows={entries}
    empty="No matching entries."
    columns={[
      { head: 'Entry', cell: ({ entry }) => formatCount(entry), numeric: true },
      ...first,
      { head: 'Address', cell: ({ address }) => address ?? <Nothing /> },
      { head: 'Action', cell: ({ action }) => action },
      { head: 'Rows', cell: ({ rows }) => (rows === null ? <Nothing /> : formatCount(rows)), numeric: true },
      { head: 'Patients', cell: (entry) => <Patients {...entry} /> },
      { head: 'Filter', cell: ({ filter }) => <Filter filter={filter} />, wide: true },
    ]}
  />
);

/** The latest entries about one patient, in words of the clinic's people. */
export const EntriesAbout = ({ entries }: { entries: readonly AccessEntry[] }) => (
  <Table
    label="Who looked, newest first"
    rows={entries}
    empty="Nobody has looked at this patient’s data before."
    columns={[
      ...first,
      { head: 'Action', cell: ({ action }) => inPlainWords(action) },
      { head: 'What', cell: ({ filter }) => <Filter filter={filter} named={inPlainWords} />, wide: true },
    ]}
  />
);

const plainWords: Record<string, string> = {
  delivery: 'message',
  family: 'kind',
  quarantine: 'rejected message',
  reveal: 'looked',
  search: 'searched',
  body: 'looked',
  audit: 'read this log',
};

const inPlainWords = (text: string) => text.replace(/\w+/g, (word) => plainWords[word] ?? word);

function Who({ actor, actor_name }: AccessEntry) {
  return (
    <>
      <a href={hrefTo('/access-log', { actor })}>{actor_name ?? actor}</a>
      {actor_name && <div class="id">{actor}</div>}
    </>
  );
}

function Patients({ patients, pseudonyms, patient_count }: AccessEntry) {
  if (patient_count === 0) return <Nothing />;
  const more = patient_count - patients.length;
  return (
    <>
      {patients.map((patient, index) => (
        <div class="id" key={patient}>
          <a href={hrefTo('/access-log', { about: pseudonyms[index] })}>{patient}</a>
        </div>
      ))}
      {more > 0 && <div>… and {formatCount(more)} more</div>}
    </>
  );
}

function Filter({ filter, named = String }: Pick<AccessEntry, 'filter'> & { named?: typeof inPlainWords }) {
  const given = Object.entries(filter);
  if (given.length === 0) return <Nothing />;
  return given.map(([name, value]) => (
    <div key={name}>
      {named(name)}: {typeof value === 'string' ? value : JSON.stringify(value)}
    </div>
  ));
}
