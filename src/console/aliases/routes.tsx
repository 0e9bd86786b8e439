import { changeAliases } from '../../store/aliases.ts';
import { actorOf } from '../log-access.ts';
import { defineSection } from '../section.ts';
import { sendPage } from '../ui/page.tsx';
import { parseFilter, readAlias } from './form.ts';
import { AliasesPage } from './pages.tsx';
import { findAliases, readKnownIds } from './queries.ts';

/** Names for the ids of businesses, clinics and doctors. */
export const section = defineSection({
  entry: { title: 'Aliases', path: '/aliases' },
  rights: {
    'GET /aliases': 'viewer',
    'GET /aliases/options': 'viewer',
    'POST /aliases': 'operator',
  },
  addRoutes(routes, { db, logAccess }) {
    routes.get('/aliases', async (req, res) => {
      const { data, entered, faults } = parseFilter(req.query);
      const ids = await readKnownIds(db, data);
      sendPage(res, { title: 'Aliases' }, <AliasesPage {...{ ids, entered, faults }} />);
    });

    routes.get('/aliases/options', async (req, res) => {
      res.json(await findAliases(db, parseFilter(req.query).data));
    });

    routes.post('/aliases', async (req, res) => {
      const { change, filter } = readAlias(req.body);
      const { kind, id } = change;
      const actor = actorOf(res);
      await db.transaction().execute(async (tx) => {
        await logAccess({ actor, action: 'aliases', filter: { kind, id }, rows: 1 }, tx);
        await changeAliases(tx, [change], actor.id);
      });
      res.redirect(303, `/console/aliases?${filter}#${encodeURIComponent(`${kind}-${id}`)}`);
    });
  },
});
