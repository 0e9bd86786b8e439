import { mayHaveSecrets, withoutHealthRecords } from '../../intake/secrets.ts';
import { patientsOfRow } from '../../privacy/find-deliveries.ts';
import type { TypedColumn } from '../../reports/column-kinds.ts';
import { redactRow } from '../redact.ts';
import { FieldValue } from '../ui/field-value.tsx';
import { Hidden, PostButton, Submit } from '../ui/forms.tsx';
import { hrefTo, recordHref, words } from '../ui/links.ts';
import { PersonalNote, ShowPersonal } from '../ui/personal.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { parseMoment } from '../ui/time.ts';
import { Facts, IdLink, Moment, Named, Nothing, RecordLink } from '../ui/values.tsx';
import {
  changedColumns,
  type Newest,
  type RecordDetails,
  type RecordKey,
  shownVersions,
  type Version,
} from './queries.ts';

export const nameOf = (name: string) => (name === 'extra' ? 'undocumented fields' : words(name));

interface RecordProps {
  recordKey: RecordKey;
  record: RecordDetails;
  revealed: boolean;
  /** The deliveries of the two versions that are compared. */
  from: string | undefined;
  to: string | undefined;
}

export function RecordPage(props: RecordProps) {
  const { recordKey, record, revealed, from, to } = props;
  const { family, business, id } = recordKey;
  const [newest] = record.versions;
  const { delivery_id, last_event } = newest.row;
  const address = `/console/records/${family.name}`;
  return (
    <>
      <Facts
        facts={{
          Business: <Named kind="business" id={business} />,
          'Last event': eventOf(family, last_event!),
          'Event time': <At version={newest} />,
          'First received': <Moment at={newest.received} />,
          Delivery: <IdLink to="deliveries" id={delivery_id!} />,
        }}
      />
      <div class="actions">
        <ShowPersonal {...{ revealed, address }} values={{ business, id, from, to }} />
        {patientsOfRow(newest.row).length > 0 && (
          <PostButton
            action="/console/patients"
            values={{ family: family.name, business, record: id }}
            kind="second"
          >
            Show the patient
          </PostButton>
        )}
        <ReceiptDeliveries {...recordKey} />
      </div>
      <PersonalNote {...{ revealed, address }} hiddenAt={recordHref(family.name, business, id)}>
        Personal data is hidden.
      </PersonalNote>
      <h2>Now</h2>
      <Fields {...{ recordKey, revealed, newest }} columns={record.columns} />
      <Related {...props} />
      <h2 id="versions">Versions</h2>
      <Versions {...props} />
    </>
  );
}

const eventOf = ({ reconciledBy }: RecordKey['family'], event: string) =>
  event === reconciledBy ? 'found by reconciliation' : event;

const At = ({ version: { row } }: { version: Version }) => <Moment at={parseMoment(row.event_time!)} />;

export function ReceiptDeliveries({ family, business, id }: RecordKey) {
  if (family.name !== 'receipt') return null;
  return <a href={hrefTo('/deliveries', { business, receipt: id })}>All deliveries of this receipt</a>;
}

type Shown = Pick<RecordProps, 'recordKey' | 'revealed'>;

/** The row of a version, as far as it may be shown. */
function shown({ recordKey: { family }, revealed }: Shown, { row }: Version): Version['row'] {
  if (!revealed) return redactRow(row, family);
  return mayHaveSecrets(row.last_event!) ? { ...row, extra: withoutHealthRecords(row.extra!) } : row;
}

export function Fields({ columns, newest, ...props }: Newest & Shown) {
  const { recordKey } = props;
  const row = shown(props, newest);
  const values = columns
    .filter(({ name }) => name !== 'extra' || newest.row.extra !== '{}')
    .map((column) => [nameOf(column.name), <Value key={column.name} {...{ column, row, recordKey }} />]);
  return <Facts facts={Object.fromEntries(values)} />;
}

type ValueProps = Parameters<typeof FieldValue>[0] & { recordKey: RecordKey };

/** The record's own id is no link: it would lead here. */
const Value = ({ column, row, recordKey: { family } }: ValueProps) =>
  column.name === family.identifiedBy ? (
    <span class="id">{row[column.name]}</span>
  ) : (
    <FieldValue column={column} row={row} />
  );

function Related({ recordKey, record: { related } }: RecordProps) {
  if (related.length === 0) return null;
  return (
    <>
      <h2>Belongs together</h2>
      <ul>
        {related.map(({ family, id }) => (
          <li key={family + id}>
            <RecordLink family={family} business={recordKey.business} id={id} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Versions(props: RecordProps) {
  const { recordKey, record } = props;
  const { family, business, id } = recordKey;
  const { versions, columns } = record;
  const isWhole = versions.length <= shownVersions;
  const lines = versions.map((version, index) => {
    const previous = versions[index + 1];
    const changed = previous && changedColumns(columns, previous, version).map(({ name }) => nameOf(name));
    const oldest = isWhole && 'first version';
    return { version, number: versions.length - index, changed: changed ? changed.join(', ') : oldest };
  });
  const chosen = {
    from: props.from ?? versions[1]?.row.delivery_id,
    to: props.to ?? versions[0].row.delivery_id,
  };
  const radio = (name: 'from' | 'to'): Column<(typeof lines)[number]> => ({
    head: name === 'from' ? 'From' : 'To',
    cell: ({ version: { row }, number }) => (
      <input
        type="radio"
        name={name}
        value={row.delivery_id!}
        checked={row.delivery_id === chosen[name]}
        aria-label={`Compare ${name} version ${number}`}
      />
    ),
  });
  const table = (
    <Table
      label="Versions, newest first"
      rows={lines}
      columns={[
        { head: 'Version', cell: ({ number }) => number },
        {
          head: 'Received',
          cell: ({ version: { row, received } }) =>
            received ? <IdLink to="deliveries" id={row.delivery_id!} at={received} /> : 'deleted delivery',
        },
        { head: 'Event', cell: ({ version }) => eventOf(family, version.row.last_event!) },
        { head: 'Event time', cell: ({ version }) => <At version={version} /> },
        { head: 'Changed', cell: ({ changed }) => changed || <Nothing />, wide: true },
        ...(versions.length > 1 ? [radio('from'), radio('to')] : []),
      ]}
    />
  );
  if (versions.length === 1) return table;
  return (
    <>
      {!isWhole && <p class="note">Only the newest versions are shown.</p>}
      <Difference {...props} />
      <form method="get" action={`/console/records/${family.name}#versions`}>
        <Hidden values={{ business, id }} />
        {table}
        <div class="actions">
          <Submit kind="second">Compare</Submit>
        </div>
      </form>
    </>
  );
}

/** The fields that two versions differ in; what is hidden says only that it differs. */
function Difference(props: RecordProps) {
  const { recordKey, record, from, to } = props;
  const { versions, columns } = record;
  const places = [from, to].map((id) => versions.findIndex(({ row }) => row.delivery_id === id));
  const [older, newer] = places.map((place) => versions[place]);
  if (!older || !newer) return null;
  const [before, after] = [shown(props, older), shown(props, newer)];
  const headOf = (place: number) => `Version ${versions.length - place}`;
  const value = (column: TypedColumn, row: Version['row']) => <Value {...{ column, row, recordKey }} />;
  const isSame = ({ name }: TypedColumn) => before[name] === after[name];
  return (
    <Table
      label="Difference between two versions"
      rows={changedColumns(columns, older, newer)}
      empty="These versions do not differ."
      columns={[
        { head: 'Field', cell: ({ name }) => nameOf(name) },
        { head: headOf(places[0]!), cell: (column) => value(column, before), wide: true },
        {
          head: headOf(places[1]!),
          cell: (column) => (isSame(column) ? 'changed' : value(column, after)),
          wide: true,
        },
      ]}
    />
  );
}
