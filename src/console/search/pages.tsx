import { mostPeople } from '../../search/find.ts';
import type { Hit } from '../../search/hit.ts';
import type { Person } from '../../search/people.ts';
import type { Place } from '../../search/places.ts';
import { PostButton } from '../ui/forms.tsx';
import { hrefTo } from '../ui/links.ts';
import type { Column } from '../ui/table.tsx';
import { Amount, formatCount, Moment, Nothing } from '../ui/values.tsx';
import { Group, Hits } from './hits.tsx';

const shownOfPeople = 10;

export const placeHref = ({ kind, id }: Place) => hrefTo('/reports/receipts', { [kind]: id });

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
  const isEmpty = hits.length + places.length + people.length === 0;
  return (
    <>
      {isIncomplete && (
        <p class="note">Older receipts are still being made ready for the search: it may miss some.</p>
      )}
      {isEmpty && <Empty {...{ searched, mayNamePeople }} />}
      <Group
        title="Patients"
        rows={people}
        columns={columnsOfPeople('/console/patients', 'Show the patient')}
        most={mostPeople}
      />
      <Group title="Clinics, doctors and businesses" rows={places} columns={ofPlace} />
      {/* Those of each patient are on the patient's page. */}
      <Hits hits={hits} most={people.length > 0 ? shownOfPeople : undefined} />
    </>
  );
}

function Empty({ searched, mayNamePeople }: Pick<SearchProps, 'searched' | 'mayNamePeople'>) {
  const kinds = mayNamePeople ? '' : ' Names, patients and parts of phone numbers take the role privacy.';
  const people = mayNamePeople ? ', the last digits of one, a word of a name, or the id of a patient' : '';
  return (
    <p class="empty">
      {searched.length > 0
        ? `Nothing was found. Searched: ${[...new Set(searched)].join(', ')}.${kinds}`
        : `Enter a receipt number or a part of it, an amount with a day (1,500 yesterday), the name of a clinic or a doctor, an id, or a phone number${people}.${kinds}`}
    </p>
  );
}

/** A list of patients, each with a button that posts the id. */
export const columnsOfPeople = (
  action: string,
  text: string,
  values: Readonly<Record<string, string>> = {},
): Column<Person>[] => [
  { head: 'Name', cell: (person) => person.name ?? <Nothing /> },
  { head: 'Paid', cell: ({ paid }) => <Amount value={paid} />, numeric: true },
  { head: 'Due', cell: ({ due }) => <Amount value={due} />, numeric: true },
  { head: 'Receipts', cell: ({ receipts }) => formatCount(receipts), numeric: true },
  { head: 'Phone', cell: ({ mobile }) => mobile ?? <Nothing /> },
  { head: 'Latest', cell: ({ latest }) => <Moment at={latest} /> },
  {
    head: 'Patient',
    cell: ({ patient }) => (
      <PostButton action={action} values={{ ...values, patient }} kind="small second">
        {text}
      </PostButton>
    ),
  },
];

const ofPlace: Column<Place>[] = [
  { head: 'Name', cell: (place) => <a href={placeHref(place)}>{place.alias}</a> },
  { head: 'Kind', cell: ({ kind }) => kind },
];
