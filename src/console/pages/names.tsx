import {
  aliasKinds,
  changeAliases,
  findAliasFault,
  type IdWithAlias,
  listIds,
  maxAliasLength,
} from '../../reconcile/aliases.ts';
import { BadInput, type Page } from '../page.ts';
import { oneOf, readForm, text } from '../read-form.ts';
import { hrefTo, useMay, visitOf } from '../ui/context.ts';
import { PostForm } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import { Moment, Nothing, titled } from '../ui/values.tsx';

const path = '/names';

export const names: Page = (routes, { db, read, logAccess }) => {
  routes.get(path, 'viewer', async (_req, res) =>
    sendPage(res, 'Names', <Names ids={await read(listIds)} />),
  );

  routes.post(path, 'operator', async (req, res) => {
    const shape = { id: text, alias: text, seen: text, kind: oneOf(aliasKinds) };
    const { kind, id = '', alias = '', seen = '' } = readForm(req.body, shape);
    if (!kind) throw new BadInput('The kind is missing.');
    const fault = findAliasFault({ id, alias });
    if (fault) throw new BadInput(`Not saved: ${fault}.`);
    const present = visitOf(res).aliases[kind].get(id)?.trim() ?? '';
    if (present !== seen && present !== alias)
      throw new BadInput(
        `Not saved: somebody has made it “${present}” meanwhile. Go back, and reload the page.`,
      );
    await logAccess(res, { action: 'aliases', filter: { kind }, ids: { id }, rows: 1 });
    await changeAliases(db, [{ kind, id, alias }], visitOf(res).actor.id);
    res.redirect(303, `${hrefTo(path)}#${encodeURIComponent(`${kind}-${id}`)}`);
  });
};

function Names({ ids }: { ids: readonly IdWithAlias[] }) {
  const mayEdit = useMay('operator');
  return (
    <>
      <p class="note">
        All businesses, and the clinics and doctors of recent receipts and appointments; first those without a
        name. {mayEdit ? 'An empty name shows the id.' : 'To change names takes the role operator.'}
      </p>
      <Table
        label="Ids and their names"
        rows={ids}
        empty="No callback has named one yet."
        columns={[
          ['Kind', ({ kind }) => titled(kind), 'at-badge'],
          ['Id', ({ kind, id }) => <span id={`${kind}-${id}`}>{id}</span>, 'at-note'],
          ['Name', (entry) => (mayEdit ? <NameForm {...entry} /> : (entry.alias ?? <Nothing />)), 'at-title'],
          ['Changed', ({ updated_at }) => <Moment at={updated_at} />],
          ['By', ({ updated_by }) => updated_by ?? <Nothing />],
        ]}
      />
    </>
  );
}

function NameForm({ kind, id, alias }: IdWithAlias) {
  return (
    <PostForm
      action={hrefTo(path)}
      least="operator"
      values={{ kind, id, seen: alias ?? undefined }}
      class="actions"
    >
      <input
        type="text"
        name="alias"
        value={alias ?? ''}
        aria-label={`Name of ${kind} ${id}`}
        maxLength={maxAliasLength}
        autocomplete="off"
      />
      <button type="submit">Save</button>
    </PostForm>
  );
}
