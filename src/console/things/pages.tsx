import { patientsIn } from '../../privacy/find-deliveries.ts';
import { redactRow } from '../redact.ts';
import { FieldValue, type TypedColumn } from '../ui/field-value.tsx';
import { Hidden, PostButton, Submit } from '../ui/forms.tsx';
import { thingHref } from '../ui/links.ts';
import { type Column, Table } from '../ui/table.tsx';
import { parseMoment } from '../ui/time.ts';
import { Facts, IdLink, Moment, Named, Nothing, PersonalNote } from '../ui/values.tsx';
import { changedColumns, shownVersions, type ThingDetails, type ThingKey, type Version } from './queries.ts';

/** The name of a family or a field, in words. */
export const nameOf = (name: string) =>
  name === 'extra' ? 'undocumented fields' : name.replaceAll('_', ' ');

interface ThingProps {
  thingKey: ThingKey;
  thing: ThingDetails;
  /** Whether personal data is shown. */
  revealed: boolean;
  /** The deliveries of the two versions that are compared. */
  from: string | undefined;
  to: string | undefined;
}

export function ThingPage(props: ThingProps) {
  const { thingKey, thing, revealed, from, to } = props;
  const { family, business, id } = thingKey;
  const [newest] = thing.versions;
  const { delivery_id, last_event } = newest.row;
  const address = `/console/things/${family.name}`;
  return (
    <>
      <Facts
        facts={{
          Business: <Named kind="business" id={business} />,
          'Last event': last_event,
          'Event time': <At version={newest} />,
          'First received': <Moment at={newest.received} />,
          Delivery: <IdLink to="deliveries" id={delivery_id!} />,
        }}
      />
      <div class="actions">
        {!revealed && (
          <PostButton action={`${address}/personal`} values={{ business, id, from, to }} kind="second">
            Show personal data
          </PostButton>
        )}
        {patientsIn(newest.row).length > 0 && (
          <PostButton
            action="/console/patients"
            values={{ family: family.name, business, thing: id }}
            kind="second"
          >
            Show the patient
          </PostButton>
        )}
        {family.name === 'receipt' && (
          <a href={`/console/deliveries?${new URLSearchParams({ business, receipt: id })}`}>
            All deliveries of this receipt
          </a>
        )}
      </div>
      <PersonalNote
        revealed={revealed}
        shownAt={`${address}/personal`}
        hiddenAt={thingHref(family.name, business, id)}
      >
        Personal data is hidden.
      </PersonalNote>
      <h2>Now</h2>
      <Now {...props} />
      <Related {...props} />
      <h2 id="versions">Versions</h2>
      <Versions {...props} />
    </>
  );
}

const At = ({ version: { row } }: { version: Version }) => <Moment at={parseMoment(row.event_time!)} />;

/** The row of a version, as far as it may be shown. */
const shown = ({ thingKey: { family }, revealed }: ThingProps, { row }: Version): Version['row'] =>
  revealed ? row : redactRow(row, family);

function Now(props: ThingProps) {
  const { thingKey, thing } = props;
  const [newest] = thing.versions;
  const row = shown(props, newest);
  const values = thing.columns
    .filter(({ name }) => name !== 'extra' || newest.row.extra !== '{}')
    .map((column) => [nameOf(column.name), <Value key={column.name} {...{ column, row, thingKey }} />]);
  return <Facts facts={Object.fromEntries(values)} />;
}

interface ValueProps {
  column: TypedColumn;
  row: Version['row'];
  thingKey: ThingKey;
}

/** The thing's own id is no link: it would lead here. */
const Value = ({ column, row, thingKey: { family } }: ValueProps) =>
  column.name === family.identifiedBy ? (
    <span class="id">{row[column.name]}</span>
  ) : (
    <FieldValue column={column} row={row} />
  );

function Related({ thingKey, thing: { related } }: ThingProps) {
  if (related.length === 0) return null;
  return (
    <>
      <h2>Belongs together</h2>
      <ul>
        {related.map(({ family, id }) => (
          <li key={family + id}>
            <a href={thingHref(family, thingKey.business, id)}>
              {nameOf(family)} {id}
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

function Versions(props: ThingProps) {
  const { thingKey, thing } = props;
  const { family, business, id } = thingKey;
  const { versions, columns } = thing;
  const lines = versions.map((version, index) => ({ version, index, previous: versions[index + 1] }));
  const isWhole = versions.length <= shownVersions;
  const chosen = {
    from: props.from ?? lines[1]?.version.row.delivery_id,
    to: props.to ?? versions[0].row.delivery_id,
  };
  const radio = (name: 'from' | 'to'): Column<(typeof lines)[number]> => ({
    head: name === 'from' ? 'From' : 'To',
    cell: ({ version: { row }, index }) => (
      <input
        type="radio"
        name={name}
        value={row.delivery_id!}
        checked={row.delivery_id === chosen[name]}
        aria-label={`Compare ${name} version ${versions.length - index}`}
      />
    ),
  });
  const table = (
    <Table
      label="Versions, newest first"
      cards
      rows={lines}
      columns={[
        { head: 'Version', cell: ({ index }) => versions.length - index },
        {
          head: 'Received',
          cell: ({ version: { row, received } }) => (
            <a href={`/console/deliveries/${row.delivery_id}`}>
              {received ? <Moment at={received} /> : 'deleted delivery'}
            </a>
          ),
        },
        { head: 'Event', cell: ({ version }) => version.row.last_event },
        { head: 'Event time', cell: ({ version }) => <At version={version} /> },
        {
          head: 'Changed',
          wide: true,
          cell: ({ version, previous }) =>
            previous ? (
              namesOf(changedColumns(columns, previous, version))
            ) : isWhole ? (
              'first version'
            ) : (
              <Nothing />
            ),
        },
        ...(versions.length > 1 ? [radio('from'), radio('to')] : []),
      ]}
    />
  );
  if (versions.length === 1) return table;
  return (
    <>
      {!isWhole && <p class="note">Only the newest versions are shown.</p>}
      <Difference {...props} />
      <form method="get" action={`/console/things/${family.name}#versions`}>
        <Hidden values={{ business, id }} />
        {table}
        <div class="actions">
          <Submit kind="second">Compare</Submit>
        </div>
      </form>
    </>
  );
}

const namesOf = (columns: readonly TypedColumn[]) =>
  columns.map(({ name }) => nameOf(name)).join(', ') || <Nothing />;

/** The fields that two versions differ in; what is hidden says only that it differs. */
function Difference(props: ThingProps) {
  const { thingKey, thing, from, to } = props;
  const { versions, columns } = thing;
  const [one, other] = [from, to].map((id) => versions.findIndex(({ row }) => row.delivery_id === id));
  const [older, newer] = [versions[one!], versions[other!]];
  if (!older || !newer) return null;
  const rows = [shown(props, older), shown(props, newer)] as const;
  return (
    <Table
      label="Difference between two versions"
      cards
      rows={changedColumns(columns, older, newer)}
      empty="These versions do not differ."
      columns={[
        { head: 'Field', cell: ({ name }) => nameOf(name) },
        {
          head: `Version ${versions.length - one!}`,
          cell: (column) => <Value {...{ column, thingKey }} row={rows[0]} />,
          wide: true,
        },
        {
          head: `Version ${versions.length - other!}`,
          cell: (column) =>
            rows[0][column.name] === rows[1][column.name] ? (
              'changed'
            ) : (
              <Value {...{ column, thingKey }} row={rows[1]} />
            ),
          wide: true,
        },
      ]}
    />
  );
}
