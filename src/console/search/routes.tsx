import { actorOf } from '../log-access.ts';
import { readForm, text } from '../read-form.ts';
import { isEnough } from '../rights.ts';
import { defineSection } from '../section.ts';
import type { Visit } from '../ui/context.ts';
import { sendPage } from '../ui/page.tsx';
import { hrefOf, SearchPage } from './pages.tsx';
import { lookupsOf, personalLookups, search } from './queries.ts';

const isPersonal = (by: string) => by === 'phone' || by === 'name';

/** Finds records, deliveries and rejected bodies by an id, and receipts and patients by what is known of a person. */
export const section = defineSection({
  rights: {
    'GET /search': 'viewer',
  },
  addRoutes(routes, { families, db, logAccess, searches }) {
    routes.get('/search', async (req, res) => {
      const { q = '' } = readForm(req.query, { q: text }).data;
      const mayNamePeople = isEnough((res.locals.visit as Visit).role, 'privacy');
      const lookups = q ? lookupsOf(families, q, mayNamePeople) : [];
      // Whoever tries numbers one after the other learns who is a patient.
      if (lookups.some(({ by }) => isPersonal(by))) searches.consume(actorOf(res).id);
      const hits = q ? await search(db, lookups) : [];
      for (const by of personalLookups) {
        const found = hits.filter((hit) => hit.by === by);
        const isAsked = lookups.some((lookup) => lookup.by === by);
        // Any text may be the id of a patient.
        if (!isAsked || (by === 'patient' && found.length === 0)) continue;
        const patients = [...new Set(found.flatMap(({ patient }) => patient || []))];
        await logAccess({
          actor: actorOf(res),
          action: 'search',
          patients,
          filter: { by },
          rows: found.length,
        });
      }
      const addresses = new Set(hits.map(hrefOf));
      const [only] = addresses;
      if (addresses.size === 1 && only) return res.redirect(303, only);
      const searched = lookups.map(({ by }) => by);
      sendPage(res, { title: 'Search', query: q }, <SearchPage {...{ hits, searched, mayNamePeople }} />);
    });
  },
});
