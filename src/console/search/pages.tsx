import type { AliasKind } from '../../store/aliases.ts';
import { PostButton } from '../ui/forms.tsx';
import { hrefTo, recordHref, titled, words } from '../ui/links.ts';
import { type Column, Table } from '../ui/table.tsx';
import { Amount, formatCount, Moment, Named, Nothing } from '../ui/values.tsx';
import type { Person } from './people.ts';
import { type Hit, shownHits } from './queries.ts';

/** A clinic, a doctor or a business whose alias contains what was searched. */
export interface Place {
  kind: AliasKind;
  id: string;
  alias: string;
}

export const placeHref = ({ kind, id }: Place) => hrefTo('/reports/receipts', { [kind]: id });

/** The page of what was found, but for a patient. */
export function hrefOf({ kind, business_id, id }: Hit): string {
  if (kind === 'delivery') return `/console/deliveries/${id}`;
  return kind === 'quarantine' ? `/console/quarantine/${id}` : recordHref(kind, business_id ?? '', id);
}

interface SearchProps {
  hits: readonly Hit[];
  places: readonly Place[];
  people: readonly Person[];
  /** What the text was looked up as; empty: there was none. */
  searched: readonly string[];
  mayNamePeople: boolean;
  /** Whether what came before is still being made ready for the search. */
  isIncomplete: boolean;
}

export function SearchPage({ hits, places, people, searched, mayNamePeople, isIncomplete }: SearchProps) {
  const ofKind = (name: string) => hits.filter(({ kind }) => kind === name);
  const others = hits.filter(({ kind }) => kind !== 'receipt' && kind !== 'appointment');
  const isEmpty = hits.length + places.length + people.length === 0;
  return (
    <>
      {isIncomplete && (
        <p class="note">Older receipts are still being made ready for the search: it may miss some.</p>
      )}
      {isEmpty && <Empty {...{ searched, mayNamePeople }} />}
      <Group title="Patients" rows={people} columns={ofPerson} />
      <Group title="Clinics, doctors and businesses" rows={places} columns={ofPlace} />
      <Group
        title="Receipts"
        rows={ofKind('receipt')}
        columns={ofReceipt.filter((column) => mayNamePeople || column !== name)}
      />
      <Group title="Appointments" rows={ofKind('appointment')} columns={ofAppointment} />
      <Group title="Others" rows={others} columns={ofOther} />
    </>
  );
}

function Empty({ searched, mayNamePeople }: Pick<SearchProps, 'searched' | 'mayNamePeople'>) {
  const kinds = mayNamePeople ? '' : ' Names, patients and parts of phone numbers take the role privacy.';
  const people = mayNamePeople ? ', the last digits of one, a word of a name, or the id of a patient' : '';
  return (
    <p class="empty">
      {searched.length > 0
        ? `Nothing was found. Searched: ${searched.join(', ')}.${kinds}`
        : `Enter a receipt number or a part of it, an amount with a day (1,500 yesterday), the name of a clinic or a doctor, an id, or a phone number${people}.${kinds}`}
    </p>
  );
}

interface GroupProps<Row> {
  title: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
}

function Group<Row>({ title, rows, columns }: GroupProps<Row>) {
  if (rows.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      {rows.length > shownHits && (
        <p class="note">
          More than {shownHits} were found; only {shownHits} are shown. Another word or digit finds fewer.
        </p>
      )}
      <Table label={`${title} that were found`} rows={rows.slice(0, shownHits)} columns={columns} />
    </>
  );
}

const amount = (value: string | null | undefined) => (value ? <Amount value={value} /> : <Nothing />);

const ofPerson: Column<Person>[] = [
  { head: 'Name', cell: (person) => person.name ?? <Nothing />, rowHead: true },
  { head: 'Paid', cell: ({ paid }) => amount(paid), numeric: true },
  { head: 'Due', cell: ({ due }) => amount(due), numeric: true },
  { head: 'Receipts', cell: ({ receipts }) => formatCount(receipts), numeric: true },
  { head: 'Phone', cell: ({ mobile }) => mobile ?? <Nothing /> },
  { head: 'Latest', cell: ({ latest }) => <Moment at={latest} /> },
  {
    head: 'Patient',
    cell: ({ patient }) => (
      <PostButton action="/console/patients" values={{ patient }} kind="small second">
        Show the patient
      </PostButton>
    ),
  },
];

const ofPlace: Column<Place>[] = [
  { head: 'Name', cell: (place) => <a href={placeHref(place)}>{place.alias}</a> },
  { head: 'Kind', cell: ({ kind }) => kind },
];

const linkTo = (hit: Hit, text: string) => <a href={hrefOf(hit)}>{text}</a>;
const at: Column<Hit> = { head: 'Time', cell: (hit) => <Moment at={hit.at} /> };
const name: Column<Hit> = { head: 'Name', cell: ({ details }) => details.name || <Nothing /> };
const places: Column<Hit>[] = [
  { head: 'Clinic', cell: ({ details }) => <Named kind="clinic" id={details.clinic} /> },
  { head: 'Doctor', cell: ({ details }) => <Named kind="doctor" id={details.doctor} /> },
];
const business: Column<Hit> = {
  head: 'Business',
  cell: ({ business_id }) => <Named kind="business" id={business_id} />,
};
const foundBy: Column<Hit> = {
  head: 'Found by',
  cell: ({ by, details }) => by + (details.deleted ? '; it is deleted' : ''),
};

const ofReceipt: Column<Hit>[] = [
  { head: 'Receipt', cell: (hit) => linkTo(hit, hit.details.number || `receipt ${hit.id}`) },
  { head: 'Amount', cell: ({ details }) => amount(details.net), numeric: true },
  { head: 'Due', cell: ({ details }) => amount(details.due), numeric: true },
  { ...at, head: 'Issued' },
  name,
  ...places,
  business,
  foundBy,
];

const ofAppointment: Column<Hit>[] = [
  { head: 'Appointment', cell: (hit) => linkTo(hit, titled(hit.details.state ?? 'appointment')) },
  { ...at, head: 'Booked' },
  ...places,
  business,
  foundBy,
];

const names: Record<string, string> = { delivery: 'message as received', quarantine: 'rejected message' };

const ofOther: Column<Hit>[] = [
  { head: 'Found', cell: (hit) => linkTo(hit, `${names[hit.kind] ?? words(hit.kind)} ${hit.id}`) },
  at,
  business,
];
