import { aliasKinds, type KnownId, maxAliasLength, mostIds } from '../../common/aliases.ts';
import { useMayPost } from '../ui/context.ts';
import { type FilterForm, Filters } from '../ui/filters.tsx';
import { EntryForm, PostForm, Submit } from '../ui/forms.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount, Moment, Nothing } from '../ui/values.tsx';

interface AliasesProps {
  ids: readonly KnownId[];
  form: FilterForm;
}

const action = '/console/aliases';

/** An operator edits each in place. */
export function AliasesPage({ ids, form }: AliasesProps) {
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
      {ids.length > mostIds && <p class="note">More than {formatCount(mostIds)}: filter them.</p>}
      <Table
        label="Ids and their names"
        rows={ids.slice(0, mostIds)}
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
            cell: (known) =>
              mayEdit ? <AliasForm {...known} filter={filter} /> : (known.alias ?? <Nothing />),
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
          { name: 'kind', label: 'Kind of the id', kind: 'choice', options: aliasKinds, any: false },
          { name: 'id', label: 'Id', required: true, autocomplete: 'off' },
          { name: 'alias', label: 'Name', autocomplete: 'off' },
        ]}
        submit="Save"
        kind="second"
      />
    </>
  );
}

function AliasForm({ kind, id, alias, filter }: KnownId & { filter: string }) {
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
