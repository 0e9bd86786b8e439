import { mostPeople } from '../../search/find.ts';
import type { Hit } from '../../search/hit.ts';
import type { Person } from '../../search/people.ts';
import { PostButton } from '../ui/forms.tsx';
import type { Column } from '../ui/table.tsx';
import { Amount, formatCount, Moment, Nothing } from '../ui/values.tsx';
import { Group, Hits } from './hits.tsx';

const shownOfPeople = 10;

interface SearchProps {
  hits: readonly Hit[];
  people: readonly Person[];
  /** What the text was looked up as; empty: there was none. */
  searched: readonly string[];
  mayNamePeople: boolean;
  /** Whether what came before is still being made ready for the search. */
  isIncomplete: boolean;
}

export function SearchPage({ hits, people, searched, mayNamePeople, isIncomplete }: SearchProps) {
  const isEmpty = hits.length + people.length === 0;
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
        : `Enter a receipt number or a part of it, an id, or a phone number${people}.${kinds}`}
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
