import { aliasKinds, changeSeenAliases } from '../../store/aliases.ts';
import { readKnownIds } from '../../store/known-ids.ts';
import type { Section } from '../dependencies.ts';
import { choice, parseForm, text } from '../read-form.ts';
import { actorOf } from '../ui/context.ts';
import { sendPage } from '../ui/page.tsx';
import { readChanges } from './changes.ts';
import { AliasesPage, type Saved } from './page.tsx';

const filter = { kind: choice('Kind', aliasKinds), text: text.meta({ label: 'Id or name' }) };

export const section: Section = {
  addRoutes(routes, { db, logAccess }) {
    const show = async (
      res: Parameters<typeof sendPage>[0],
      query: Record<string, unknown>,
      saved?: Saved,
    ) => {
      const { data, ...form } = parseForm(query, filter);
      const ids = await readKnownIds(db, data);
      sendPage(res, 'Names', <AliasesPage {...{ ids, form, saved }} />, {
        status: saved?.stale.length ? 409 : 200,
      });
    };

    routes.get('/aliases', 'viewer', (req, res) => show(res, req.query));

    routes.post('/aliases', 'operator', async (req, res) => {
      const changes = readChanges(req.body);
      const stale = await db.transaction().execute(async (tx) => {
        const found = await changeSeenAliases(tx, changes, actorOf(res).id);
        for (const { kind, id } of found.length === 0 ? changes : [])
          await logAccess(res, { action: 'aliases', filter: { kind, id }, rows: 1 }, tx);
        return found;
      });
      // The filter is the query of the page that the changes were made on.
      await show(res, Object.fromEntries(new URLSearchParams(String(req.body.filter ?? ''))), {
        changes,
        stale,
      });
    });
  },
};
