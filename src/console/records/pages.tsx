import { patientsOfRow } from '../../privacy/find-deliveries.ts';
import { redactRow } from '../redact.ts';
import { FieldValue, type TypedColumn } from '../ui/field-value.tsx';
import { Hidden, PostButton, Submit } from '../ui/forms.tsx';
import { hrefTo, thingHref, words } from '../ui/links.ts';
import { type Column, Table } from '../ui/table.tsx';
import { parseMoment } from '../ui/time.ts';
import { Facts, IdLink, Moment, Named, Nothing, PersonalNote, ThingLink } from '../ui/values.tsx';
import {
  changedColumns,
  type Newest,
  shownVersions,
  type ThingDetails,
  type ThingKey,
  type Version,
} from './queries.ts';

/** The name of a family or a field, in words. */
export const nameOf = (name: string) => (name === 'extra' ? 'undocumented fields' : words(name));

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
        {patientsOfRow(newest.row).length > 0 && (
          <PostButton
            action="/console/patients"
            values={{ family: family.name, business, thing: id }}
            kind="second"
          >
            Show the patient
          </PostButton>
        )}
        <ReceiptDeliveries {...thingKey} />
      </div>
      <PersonalNote
        revealed={revealed}
        shownAt={`${address}/personal`}
        hiddenAt={thingHref(family.name, business, id)}
      >
        Personal data is hidden.
      </PersonalNote>
      <h2>Now</h2>
      <Fields {...{ thingKey, revealed, newest }} columns={thing.columns} />
      <Related {...props} />
      <h2 id="versions">Versions</h2>
      <Versions {...props} />
    </>
  );
}

const At = ({ version: { row } }: { version: Version }) => <Moment at={parseMoment(row.event_time!)} />;

export function ReceiptDeliveries({ family, business, id }: ThingKey) {
  if (family.name !== 'receipt') return null;
  return <a href={hrefTo('/deliveries', { business, receipt: id })}>All deliveries of this receipt</a>;
}

type Shown = Pick<ThingProps, 'thingKey' | 'revealed'>;

/** The row of a version, as far as it may be shown. */
const shown = ({ thingKey: { family }, revealed }: Shown, { row }: Version): Version['row'] =>
  revealed ? row : redactRow(row, family);

/** What a thing says now, field by field. */
export function Fields({ columns, newest, ...props }: Newest & Shown) {
  const { thingKey } = props;
  const row = shown(props, newest);
  const values = columns
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
            <ThingLink family={family} business={thingKey.business} id={id} />
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
      cards
      rows={lines}
      columns={[
        { head: 'Version', cell: ({ number }) => number },
        {
          head: 'Received',
          cell: ({ version: { row, received } }) =>
            received ? <IdLink to="deliveries" id={row.delivery_id!} at={received} /> : 'deleted delivery',
        },
        { head: 'Event', cell: ({ version }) => version.row.last_event },
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

/** The fields that two versions differ in; what is hidden says only that it differs. */
function Difference(props: ThingProps) {
  const { thingKey, thing, from, to } = props;
  const { versions, columns } = thing;
  const places = [from, to].map((id) => versions.findIndex(({ row }) => row.delivery_id === id));
  const [older, newer] = places.map((place) => versions[place]);
  if (!older || !newer) return null;
  const [before, after] = [shown(props, older), shown(props, newer)];
  const headOf = (place: number) => `Version ${versions.length - place}`;
  const value = (column: TypedColumn, row: Version['row']) => <Value {...{ column, row, thingKey }} />;
  const isSame = ({ name }: TypedColumn) => before[name] === after[name];
  return (
    <Table
      label="Difference between two versions"
      cards
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
