import { type AliasChange, aliasKinds, type changeSeenAliases, maxAliasLength } from '../../store/aliases.ts';
import { type KnownId, mostIds } from '../../store/known-ids.ts';
import { useMayPost } from '../ui/context.ts';
import { type FilterForm, Filters } from '../ui/filters.tsx';
import { Fields, PostForm, Submit } from '../ui/forms.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount, formatCountOf, Moment, Nothing } from '../ui/values.tsx';
import { fieldOf } from './changes.ts';

/** What was to be saved: all of it, unless somebody else has changed a part meanwhile. */
export interface Saved {
  changes: readonly AliasChange[];
  stale: Awaited<ReturnType<typeof changeSeenAliases>>;
}

interface AliasesProps {
  ids: readonly KnownId[];
  form: FilterForm;
  saved: Saved | undefined;
}

const action = '/console/aliases';

/** An operator edits them in place, and saves them together. */
export function AliasesPage({ ids, form, saved }: AliasesProps) {
  const mayEdit = useMayPost(action);
  const shown = ids.slice(0, mostIds);
  const table = (
    <Table
      label="Ids and their names"
      rows={shown}
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
          cell: (known) => (mayEdit ? <AliasField {...known} saved={saved} /> : (known.alias ?? <Nothing />)),
        },
        { head: 'Changed', cell: ({ updated_at }) => <Moment at={updated_at} /> },
        { head: 'By', cell: ({ updated_by }) => updated_by ?? <Nothing /> },
      ]}
    />
  );
  return (
    <>
      {saved && <Outcome {...saved} />}
      <p>
        Names that the console shows beside ids. Listed are all businesses, and the clinics and doctors of
        recent receipts and appointments, with many businesses of some of them.{' '}
        {mayEdit ? 'An empty name removes it.' : 'Changing them takes the role operator.'}
      </p>
      <Filters action={action} {...form} />
      {ids.length > mostIds && <p class="note">More than {formatCount(mostIds)}: filter them.</p>}
      {mayEdit || table}
      <PostForm action={action} values={{ filter: new URLSearchParams(form.entered).toString() }}>
        {table}
        <fieldset class="card">
          <legend>Another id</legend>
          <Fields
            fields={[
              { name: 'kind', label: 'Kind of the id', kind: 'choice', options: aliasKinds, any: false },
              { name: 'id', label: 'Id', autocomplete: 'off' },
              { name: 'alias', label: 'Name', autocomplete: 'off' },
            ]}
          />
        </fieldset>
        <div class="actions at-hand">
          <Submit>Save all changed names</Submit>
        </div>
      </PostForm>
    </>
  );
}

/** After a save, the first that was changed has the focus. What was not saved is still what somebody entered. */
function AliasField({ kind, id, alias, saved }: KnownId & { saved: Saved | undefined }) {
  const at = saved?.changes.findIndex((one) => one.kind === kind && one.id === id) ?? -1;
  return (
    <>
      <input type="hidden" name={fieldOf('was', kind, id)} value={alias ?? ''} />
      <input
        type="text"
        name={fieldOf('name', kind, id)}
        value={saved?.changes[at]?.alias ?? alias ?? ''}
        aria-label={`Name of ${kind} ${id}`}
        maxLength={maxAliasLength}
        autocomplete="off"
        autofocus={at === 0 && saved?.stale.length === 0}
      />
    </>
  );
}

const quoted = (alias: string) => (alias ? `“${alias}”` : 'no name');

function Outcome({ changes, stale }: Saved) {
  const isSaved = stale.length === 0;
  const lines = isSaved
    ? changes.map(({ kind, id, alias }) => `${kind} ${id}: ${quoted(alias)}`)
    : stale.map(
        ({ kind, id, alias, current, by }) =>
          `${kind} ${id} has ${quoted(current)} now${by ? `, by ${by}` : ''}; you entered ${quoted(alias)}`,
      );
  return (
    <section class={isSaved ? 'card' : 'warning'} role="status">
      <h2>
        {isSaved
          ? `Saved: ${formatCountOf(lines.length, ['name', 'names'])}`
          : 'Not saved: somebody else has changed names meanwhile. Correct the fields, and save again'}
      </h2>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </section>
  );
}
