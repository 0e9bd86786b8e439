import type { Section } from '../dependencies.ts';
import { actorOf } from '../log-access.ts';
import { readForm, text } from '../read-form.ts';
import { isEnough } from '../rights.ts';
import { read } from '../store.ts';
import type { Visit } from '../ui/context.ts';
import { PostButton } from '../ui/forms.tsx';
import { recordHref, words } from '../ui/links.ts';
import { sendPage } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { Moment, Named, Nothing } from '../ui/values.tsx';
import { type Hit, lookupsOf, personalLookups, searchQuery, shownHits } from './queries.ts';

const isPersonal = (by: string) => by === 'phone' || by === 'name';

/** Finds records, deliveries and rejected bodies by an id, and receipts and patients by what is known of a person. */
export const section: Section = {
  addRoutes(routes, { families, db, logAccess, searches }) {
    routes.get('/search', 'viewer', async (req, res) => {
      const { q = '' } = readForm(req.query, { q: text }).data;
      const mayNamePeople = isEnough((res.locals.visit as Visit).role, 'privacy');
      const lookups = q ? lookupsOf(families, q, mayNamePeople) : [];
      // Whoever tries numbers one after the other learns who is a patient.
      if (lookups.some(({ by }) => isPersonal(by))) searches.consume(actorOf(res).id);
      const hits = q ? await read(db, searchQuery(lookups)) : [];
      for (const by of personalLookups) {
        const found = hits.filter((hit) => hit.by === by);
        const isAsked = lookups.some((lookup) => lookup.by === by);
        // Any text may be the id of a patient.
        if (!isAsked || (by === 'patient' && found.length === 0)) continue;
        const patients = [...new Set(found.flatMap(({ patient }) => patient || []))];
        await logAccess(res, { action: 'search', patients, filter: { by }, rows: found.length });
      }
      const addresses = new Set(hits.map(hrefOf));
      const [only] = addresses;
      if (addresses.size === 1 && only) return res.redirect(303, only);
      const searched = lookups.map(({ by }) => by);
      sendPage(res, 'Search', <SearchPage {...{ hits, searched, mayNamePeople }} />, { query: q });
    });
  },
};

/** The page of what was found; undefined: it is posted. */
function hrefOf({ kind, business_id, id }: Hit): string | undefined {
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

function SearchPage({ hits, searched, mayNamePeople }: SearchProps) {
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
