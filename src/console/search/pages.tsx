import { PostButton } from '../ui/forms.tsx';
import { recordHref, words } from '../ui/links.ts';
import { Table } from '../ui/table.tsx';
import { Moment, Named, Nothing } from '../ui/values.tsx';
import { type Hit, shownHits } from './queries.ts';

/** The page of what was found; undefined: it is posted. */
export function hrefOf({ kind, business_id, id }: Hit): string | undefined {
  if (kind === 'patient') return undefined;
  if (kind === 'delivery') return `/console/deliveries/${id}`;
  return kind === 'quarantine' ? `/console/quarantine/${id}` : recordHref(kind, business_id ?? '', id);
}

interface SearchProps {
  hits: readonly Hit[];
  /** What the text was looked up as; empty: there was none. */
  searched: readonly string[];
  mayNamePeople: boolean;
}

export function SearchPage({ hits, searched, mayNamePeople }: SearchProps) {
  const kinds = mayNamePeople ? '' : ' Names and patients take the role privacy.';
  if (hits.length === 0) {
    return (
      <p class="empty">
        {searched.length > 0
          ? `Nothing was found. Searched: ${searched.join(', ')}.${kinds}`
          : `Enter the id of a record, a delivery or a rejected body, a receipt number, a phone number${mayNamePeople ? ', the beginning of a name, or the id of a patient' : ''}.${kinds}`}
      </p>
    );
  }
  return (
    <>
      {hits.length > shownHits && (
        <p class="note">
          More than {shownHits} were found; only {shownHits} are shown.
        </p>
      )}
      <Table
        label="What was found, newest event first"
        cards
        rows={hits.slice(0, shownHits)}
        columns={[
          { head: 'Found', cell: (hit) => <Found {...hit} /> },
          { head: 'By', cell: ({ by }) => by },
          { head: 'Business', cell: ({ business_id }) => <Named kind="business" id={business_id} /> },
          { head: 'Last event', cell: ({ event }) => event ?? <Nothing /> },
          { head: 'Event time', cell: ({ at }) => <Moment at={at} /> },
        ]}
      />
    </>
  );
}

function Found(hit: Hit) {
  const { kind, id } = hit;
  const href = hrefOf(hit);
  if (!href) {
    return (
      <PostButton action="/console/patients" values={{ patient: id }} kind="small second">
        Show the patient
      </PostButton>
    );
  }
  return (
    <a href={href}>
      {words(kind)} {id}
    </a>
  );
}
