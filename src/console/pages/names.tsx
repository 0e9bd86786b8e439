import {
  aliasKinds,
  changeAliases,
  findAliasFault,
  type IdWithAlias,
  listIds,
  maxAliasLength,
  maxIds,
} from '../../reconcile/aliases.ts';
import { BadInput, type Page } from '../page.ts';
import { choice, type Form, oneOf, parseForm, readForm, text } from '../read-form.ts';
import { useMayPost, visitOf } from '../ui/context.ts';
import { Filters } from '../ui/filters.tsx';
import { EntryForm, PostForm, Submit } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount, Moment, Nothing } from '../ui/values.tsx';

const filter = { kind: choice('Kind', aliasKinds), text: text.meta({ label: 'Id or name' }) };

export const aliases: Page = (routes, { db, read, logAccess }) => {
  routes.get('/aliases', 'viewer', async (req, res) => {
    const { data, ...form } = parseForm(req.query, filter);
    const ids = await read((tx) => listIds(tx, data));
    sendPage(res, 'Names', <AliasesPage ids={ids} form={form} />);
  });

  routes.post('/aliases', 'operator', async (req, res) => {
    const shape = { kind: oneOf(aliasKinds), id: text, alias: text, filter: text };
    const { kind, id = '', alias = '', filter: shown = '' } = readForm(req.body, shape).data;
    if (!kind) throw new BadInput('The kind is missing.');
    const fault = findAliasFault({ id, alias });
    if (fault) throw new BadInput(`Not saved: ${fault}.`);
    await logAccess(res, { action: 'aliases', filter: { kind }, ids: { id }, rows: 1 });
    await changeAliases(db, [{ kind, id, alias }], visitOf(res).actor.id);
    const place = encodeURIComponent(`${kind}-${id}`);
    res.redirect(303, `/console/aliases?${new URLSearchParams(shown)}#${place}`);
  });
};

const action = '/console/aliases';

function AliasesPage({ ids, form }: { ids: readonly IdWithAlias[]; form: Form }) {
  const mayEdit = useMayPost(action);
  const filter = new URLSearchParams(form.entered).toString();
  return (
    <>
      <p>
        Names that the console shows beside ids. Listed are all businesses, and the clinics and doctors of
        recent receipts and appointments, with many businesses of some of them.{' '}
        {mayEdit ? 'An empty name removes it.' : 'Changing them takes the role operator.'}
      </p>
      <Filters action={action} {...form} />
      {ids.length > maxIds && <p class="note">More than {formatCount(maxIds)}: filter them.</p>}
      <Table
        label="Ids and their names"
        rows={ids.slice(0, maxIds)}
        empty="No ids."
        columns={[
          { head: 'Kind', cell: ({ kind }) => kind },
          {
            head: 'Id',
            cell: ({ kind, id }) => (
              <span class="id" id={`${kind}-${id}`}>
                {id}
              </span>
            ),
          },
          {
            head: 'Name',
            cell: (entry) =>
              mayEdit ? <AliasForm {...entry} filter={filter} /> : (entry.alias ?? <Nothing />),
          },
          { head: 'Changed', cell: ({ updated_at }) => <Moment at={updated_at} /> },
          { head: 'By', cell: ({ updated_by }) => updated_by ?? <Nothing /> },
        ]}
      />
      <EntryForm
        action={action}
        values={{ filter }}
        title="Another id"
        fields={[
          { name: 'kind', label: 'Kind of the id', options: aliasKinds, any: false },
          { name: 'id', label: 'Id', required: true, autocomplete: 'off' },
          { name: 'alias', label: 'Name', autocomplete: 'off' },
        ]}
        submit="Save"
      />
    </>
  );
}

function AliasForm({ kind, id, alias, filter }: IdWithAlias & { filter: string }) {
  return (
    <PostForm action={action} values={{ kind, id, filter }} class="beside-button">
      <input
        type="text"
        name="alias"
        value={alias ?? ''}
        aria-label={`Name of ${kind} ${id}`}
        maxLength={maxAliasLength}
        autocomplete="off"
      />
      <Submit kind="small second">Save</Submit>
    </PostForm>
  );
}
