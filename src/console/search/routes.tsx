import type { Hit } from '../../search/hit.ts';
import {
  appointmentsOf,
  lookupsOf,
  personalLookups,
  readByIndexes,
  searchQuery,
} from '../../search/lookups.ts';
import { peopleQuery } from '../../search/people.ts';
import type { Aliases } from '../../store/aliases.ts';
import { aliasKinds } from '../../store/aliases.ts';
import { areTermsIncomplete } from '../../store/search-terms.ts';
import type { Section } from '../dependencies.ts';
import { actorOf } from '../log-access.ts';
import { readForm, text } from '../read-form.ts';
import { isEnough } from '../rights.ts';
import type { Visit } from '../ui/context.ts';
import { sendPage } from '../ui/page.tsx';
import { formatLocal } from '../ui/time.ts';
import { hrefOf } from './hits.tsx';
import { mostPeople, type Place, placeHref, SearchPage } from './pages.tsx';

const isPersonal = (by: string) => personalLookups.some((one) => one === by);

/** Finds receipts, patients and appointments by what is known of them, clinics and doctors by name, and anything by id. */
export const section: Section = {
  addRoutes(routes, { families, db, timezone, logAccess, searches }) {
    routes.get('/search', 'viewer', async (req, res) => {
      const { q = '' } = readForm(req.query, { q: text }).data;
      const { role, aliases } = res.locals.visit as Visit;
      const mayNamePeople = isEnough(role, 'privacy');
      const today = formatLocal(Date.now(), timezone).slice(0, 10);
      const lookups = q ? lookupsOf(families, { text: q, mayNamePeople, today }) : [];
      // Whoever tries numbers one after the other learns who is a patient.
      if (lookups.some(({ by }) => isPersonal(by) && by !== 'patient'))
        searches[mayNamePeople ? 'privacy' : 'others'].consume(actorOf(res).id);
      const found = withoutRepeated(q ? await readByIndexes(db, searchQuery(lookups)) : []);
      const byPerson = found.filter(({ by }) => isPersonal(by));
      const patients = patientsOf(byPerson).slice(0, mostPeople + 1);
      const linked =
        byPerson.length > 0 ? await readByIndexes(db, appointmentsOf(patients, receiptsOf(byPerson))) : [];
      const hits = withoutRepeated([...found, ...linked]);
      const records = hits.filter(({ kind }) => kind !== 'patient');
      const places = q ? placesWith(aliases, q) : [];
      const people =
        mayNamePeople && patients.length > 0 ? await readByIndexes(db, peopleQuery(families, patients)) : [];
      const addresses = new Set([...records.map(hrefOf), ...places.map(placeHref)]);
      const [only] = addresses;
      const opens = addresses.size === 1 && people.length === 0 ? only : undefined;
      for (const { by } of lookups) {
        const of = hits.filter((hit) => hit.by === by);
        // Any text may be the id of a patient.
        const isAsked = isPersonal(by) && (by !== 'patient' || of.length > 0);
        const showsNames = mayNamePeople && !opens && of.some(({ details }) => details.name);
        if (isAsked || showsNames)
          await logAccess(res, {
            action: 'search',
            patients: patientsOf(of),
            filter: { by },
            rows: of.length,
          });
      }
      if (opens) return res.redirect(303, opens);
      const isIncomplete = q !== '' && (await areTermsIncomplete(db));
      const searched = lookups.map(({ by }) => by);
      const page = (
        <SearchPage {...{ hits: records, places, people, searched, mayNamePeople, isIncomplete }} />
      );
      sendPage(res, 'Search', page, { query: q });
    });
  },
};

const patientsOf = (hits: readonly Hit[]) => [
  ...new Set(hits.flatMap(({ details }) => details.patient || [])),
];
const receiptsOf = (hits: readonly Hit[]) => hits.filter(({ kind }) => kind === 'receipt');

/** The first hit of each record. */
function withoutRepeated(hits: readonly Hit[]): Hit[] {
  const keys = new Map<string, Hit>();
  for (const hit of hits) {
    const key = [hit.kind, hit.business_id, hit.id].join('\n');
    // The entry of the access log is about the personal one.
    if (!keys.has(key) || (isPersonal(hit.by) && !isPersonal(keys.get(key)!.by))) keys.set(key, hit);
  }
  return [...keys.values()];
}

const mostPlaces = 20;

function placesWith(aliases: Aliases | undefined, searched: string): Place[] {
  const part = searched.toLowerCase();
  if (!aliases || part.length < 2) return [];
  return aliasKinds
    .flatMap((kind) => [...aliases[kind]].map(([id, alias]) => ({ kind, id, alias })))
    .filter(({ alias }) => alias.toLowerCase().includes(part))
    .slice(0, mostPlaces);
}
