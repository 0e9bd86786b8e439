import { appointment } from '../../families/appointment.ts';
import { type Family, families, meaningOf, titleOf } from '../../families/index.ts';
import { type Hit, shownHits } from '../../search/hit.ts';
import { recordHref, titled } from '../ui/links.ts';
import { type Column, Table } from '../ui/table.tsx';
import { Amount, Moment, Named, Nothing } from '../ui/values.tsx';

/** The page of what was found, but for a patient. */
export function hrefOf({ kind, business_id, id }: Hit): string {
  if (kind === 'delivery') return `/console/deliveries/${id}`;
  return kind === 'quarantine' ? `/console/quarantine/${id}` : recordHref(kind, business_id ?? '', id);
}

interface GroupProps<Row> {
  title: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  /** How many rows are shown; a note says where there are more. */
  most?: number;
}

const kinds: Record<string, string> = {
  ...Object.fromEntries((families as readonly Family[]).map((family) => [family.name, titleOf(family)])),
  delivery: 'message as received',
  quarantine: 'rejected message',
};

/** A titled list; nothing where it is empty. */
export function Group<Row>({ title, rows, columns, most = shownHits }: GroupProps<Row>) {
  if (rows.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      {rows.length > most && (
        <p class="note">
          There are more than {most}; the latest {most} are shown.
        </p>
      )}
      <Table label={title} rows={rows.slice(0, most)} columns={columns} />
    </>
  );
}

export const amount = (value: string | null | undefined) => (value ? <Amount value={value} /> : <Nothing />);

const linkTo = (hit: Hit, text: string) => <a href={hrefOf(hit)}>{text}</a>;
const at: Column<Hit> = { head: 'Time', cell: (hit) => <Moment at={hit.at} /> };
const business: Column<Hit> = {
  head: 'Business',
  cell: ({ business_id }) => <Named kind="business" id={business_id} />,
};
const places: Column<Hit>[] = [
  { head: 'Doctor', cell: ({ details }) => <Named kind="doctor" id={details.doctor} /> },
  { head: 'Clinic', cell: ({ details }) => <Named kind="clinic" id={details.clinic} /> },
  business,
];

const money = (head: string, value: 'net' | 'paid' | 'due'): Column<Hit> => ({
  head,
  cell: ({ details }) => amount(details[value]),
  numeric: true,
});

const foundBy = (hits: readonly Hit[]): Column<Hit>[] =>
  new Set(hits.map(({ by }) => by)).size > 1 ? [{ head: 'Found by', cell: ({ by }) => by }] : [];

const noteOf = ({ details: { note, deleted } }: Hit) => note ?? (deleted ? 'deleted' : '');

/** The columns of a list of receipts; those that would be empty, or the same in each row, are left out. */
export const columnsOfReceipts = (hits: readonly Hit[], showsNames = false): Column<Hit>[] => [
  { head: 'Receipt', cell: (hit) => linkTo(hit, hit.details.number || `receipt ${hit.id}`) },
  money('Amount', 'net'),
  money('Paid', 'paid'),
  money('Due', 'due'),
  { ...at, head: 'Issued' },
  ...(showsNames ? [{ head: 'Name', cell: ({ details }: Hit) => details.name || <Nothing /> }] : []),
  ...(hits.some(noteOf) ? [{ head: 'Note', cell: (hit: Hit) => noteOf(hit) || <Nothing /> }] : []),
  ...places,
  ...foundBy(hits),
];

const statusOf = ({ details: { status } }: Hit) =>
  titled(status ? meaningOf(appointment, 'status', status) : 'appointment');

export const columnsOfAppointments = (hits: readonly Hit[]): Column<Hit>[] => [
  { head: 'Appointment', cell: (hit) => linkTo(hit, statusOf(hit)) },
  { ...at, head: 'Booked' },
  ...places,
  ...foundBy(hits),
];

export const columnsOfOthers: Column<Hit>[] = [
  { head: 'Record', cell: (hit) => linkTo(hit, `${titled(kinds[hit.kind] ?? hit.kind)} ${hit.id}`) },
  at,
  business,
];
