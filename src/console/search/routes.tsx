import { find, patientsOf } from '../../search/find.ts';
import { isPersonal, lookupsOf } from '../../search/lookups.ts';
import { isEnough } from '../../sign-in/rights.ts';
import { areTermsIncomplete } from '../../store/search-terms.ts';
import type { Section } from '../dependencies.ts';
import { readForm, text } from '../read-form.ts';
import { actorOf, type Visit } from '../ui/context.ts';
import { sendPage } from '../ui/page.tsx';
import { hrefOf } from './hits.tsx';
import { SearchPage } from './pages.tsx';

/** Finds receipts, patients and appointments by what is known of them, and anything by id. */
export const section: Section = {
  addRoutes(routes, { families, db, logAccess, searches }) {
    routes.get('/search', 'viewer', async (req, res) => {
      const { q = '' } = readForm(req.query, { q: text }).data;
      const { role } = res.locals.visit as Visit;
      const mayNamePeople = isEnough(role, 'privacy');
      const lookups = q ? lookupsOf(families, { text: q, mayNamePeople }) : [];
      // Whoever tries numbers one after the other learns who is a patient.
      if (lookups.some(({ by }) => isPersonal(by) && by !== 'patient'))
        searches[mayNamePeople ? 'privacy' : 'others'].consume(actorOf(res).id);
      const found = await find(db, families, lookups, mayNamePeople);
      const hits = found.hits.filter(({ kind }) => kind !== 'patient');
      const addresses = new Set(hits.map(hrefOf));
      const [only] = addresses;
      const opens = addresses.size === 1 && found.people.length === 0 ? only : undefined;
      for (const { by } of lookups) {
        const of = found.hits.filter((hit) => hit.by === by);
        // Any text may be the id of a patient.
        const isAsked = isPersonal(by) && (by !== 'patient' || of.length > 0);
        const showsNames = !opens && of.some(({ details }) => details.name);
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
      const searched = lookups.map(({ by }) => by.replace(/^.* id$/, 'ids'));
      const { people } = found;
      const page = <SearchPage {...{ hits, people, searched, mayNamePeople, isIncomplete }} />;
      sendPage(res, 'Search', page, { query: q });
    });
  },
};
