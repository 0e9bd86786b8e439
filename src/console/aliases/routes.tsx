import { aliasKinds, changeAliases, findAliasFault } from '../../store/aliases.ts';
import { readKnownIds } from '../../store/known-ids.ts';
import type { Section } from '../dependencies.ts';
import { BadInput } from '../errors.ts';
import { choice, oneOf, parseForm, readForm, text } from '../read-form.ts';
import { actorOf } from '../ui/context.ts';
import { sendPage } from '../ui/page.tsx';
import { AliasesPage } from './page.tsx';

const filter = { kind: choice('Kind', aliasKinds), text: text.meta({ label: 'Id or name' }) };

export const section: Section = {
  addRoutes(routes, { db, logAccess }) {
    routes.get('/aliases', 'viewer', async (req, res) => {
      const { data, ...form } = parseForm(req.query, filter);
      sendPage(res, 'Names', <AliasesPage ids={await readKnownIds(db, data)} form={form} />);
    });

    routes.post('/aliases', 'operator', async (req, res) => {
      const shape = { kind: oneOf(aliasKinds), id: text, alias: text, filter: text };
      const { kind, id = '', alias = '', filter: shown = '' } = readForm(req.body, shape).data;
      if (!kind) throw new BadInput('The kind is missing.');
      const fault = findAliasFault(id, alias);
      if (fault) throw new BadInput(`Not saved: ${fault}.`);
      await db.transaction().execute(async (tx) => {
        await changeAliases(tx, [{ kind, id, alias }], actorOf(res).id);
        await logAccess(res, { action: 'aliases', filter: { kind, id }, rows: 1 }, tx);
      });
      // The page that the name was changed on, at its row.
      res.redirect(
        303,
        `/console/aliases?${new URLSearchParams(shown)}#${encodeURIComponent(`${kind}-${id}`)}`,
      );
    });
  },
};
