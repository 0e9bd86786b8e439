import {
  aliasKinds,
  findAliasFault,
  type IdWithAlias,
  listIds,
  maxAliasLength,
  maxIds,
  renameId,
} from '../../reconcile/aliases.ts';
import { BadInput, type Page } from '../page.ts';
import { oneOf, readForm, text } from '../read-form.ts';
import { Chip } from '../ui/chips.tsx';
import { hrefTo, useMay, type Values, visitOf } from '../ui/context.ts';
import { Field, PostForm } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Facts, formatCount, Moment, Nothing, titled } from '../ui/values.tsx';

const path = '/names';
const action = hrefTo(path);
const filter = { kind: oneOf(aliasKinds), text };

/** Names for the ids of businesses, clinics and doctors. */
export const names: Page = (routes, { db, read, logAccess }) => {
  routes.get(path, 'viewer', async (req, res) => {
    const entered = readForm(req.query, filter);
    const page = { path, entered };
    const kinds = aliasKinds.map((kind) => [kind, titled(kind)] as const);
    const typed = [{ name: 'text', label: 'A part of the id or of the name' }];
    const bar = (
      <>
        <Chip {...page} label="Kind" names={['kind']} choices={kinds} />
        <Chip {...page} label="Id or name" names={['text']} fields={typed} />
      </>
    );
    const ids = await read((tx) => listIds(tx, entered));
    sendPage(res, 'Names', <Names {...{ ids, entered }} />, { bar });
  });

  routes.post(path, 'operator', async (req, res) => {
    const texts = { id: text, alias: text, was: text, filter: text };
    const shape = { ...texts, kind: oneOf(aliasKinds), page: oneOf(['health']) };
    const { kind, id = '', alias = '', was = '', page, filter: shown = '' } = readForm(req.body, shape);
    if (!kind) throw new BadInput('The kind is missing.');
    const fault = findAliasFault({ id, alias });
    if (fault) throw new BadInput(`Not saved: ${fault}.`);
    await logAccess(res, { action: 'aliases', filter: { kind }, ids: { id }, rows: 1 });
    const current = await renameId(db, { kind, id, alias, was }, visitOf(res).actor.id);
    if (current) return sendPage(res, 'Not saved', <Conflict {...{ current, alias }} />, { status: 409 });
    const place = encodeURIComponent(`${kind}-${id}`);
    res.redirect(303, page ? hrefTo('/health') : `${action}?${new URLSearchParams(shown)}#${place}`);
  });
};

function Names({ ids, entered }: { ids: readonly IdWithAlias[]; entered: Values }) {
  const back = { filter: new URLSearchParams(Object.entries(entered) as [string, string][]).toString() };
  return (
    <>
      <p class="note">
        All businesses, and the clinics and doctors of recent receipts and appointments.{' '}
        {useMay('operator') ? 'An empty name shows the id.' : 'To change names takes the role operator.'}
        {ids.length > maxIds && ` These are the first ${formatCount(maxIds)}: filter them.`}
      </p>
      <IdTable ids={ids.slice(0, maxIds)} empty="No matching ids." back={back} />
      <PostForm action={action} least="operator" values={{ ...back, was: '' }} label="Another id">
        <h2>Another id</h2>
        <div class="actions">
          <Field name="kind" label="Kind" options={aliasKinds} />
          <Field name="id" label="Id" required autocomplete="off" />
          <Field name="alias" label="Name" required autocomplete="off" />
          <button type="submit">Save</button>
        </div>
      </PostForm>
    </>
  );
}

interface IdTableProps {
  /** Undefined: they took too long to read. */
  ids: readonly IdWithAlias[] | undefined;
  empty: string;
  /** Hidden fields: where a form leads back to. */
  back: Values;
}

/** Ids, each with a form for its name. */
export function IdTable({ ids, empty, back }: IdTableProps) {
  const mayEdit = useMay('operator');
  return (
    <Table
      label="Ids and their names"
      rows={ids}
      empty={empty}
      columns={[
        ['Kind', ({ kind }) => titled(kind)],
        ['Id', ({ kind, id }) => <span id={`${kind}-${id}`}>{id}</span>],
        ['Name', (entry) => (mayEdit ? <NameForm {...entry} back={back} /> : (entry.alias ?? <Nothing />))],
        ...(ids?.some(({ updated_at }) => updated_at) ? changes : []),
      ]}
    />
  );
}

const changes: readonly Column<IdWithAlias>[] = [
  ['Changed', ({ updated_at }) => <Moment at={updated_at} />],
  ['By', ({ updated_by }) => updated_by ?? <Nothing />],
];

function NameForm({ kind, id, alias, back }: IdWithAlias & { back: Values }) {
  const value = alias ?? '';
  return (
    <PostForm action={action} least="operator" values={{ kind, id, was: value, ...back }} class="actions">
      <input
        type="text"
        name="alias"
        value={value}
        aria-label={`Name of ${kind} ${id}`}
        maxLength={maxAliasLength}
        autocomplete="off"
      />
      <button type="submit">Save</button>
    </PostForm>
  );
}

function Conflict({ current, alias }: { current: IdWithAlias; alias: string }) {
  const { kind, id, updated_by, updated_at } = current;
  const now = current.alias ?? '';
  return (
    <>
      <p class="warning" role="alert">
        Nothing was saved: {updated_by} has changed this name since you opened the page.
      </p>
      <Facts
        facts={{
          [titled(kind)]: id,
          'Name now': now,
          'Changed by': updated_by,
          Changed: <Moment at={updated_at} />,
          'Your name': alias,
        }}
      />
      <div class="actions">
        <PostForm action={action} least="operator" values={{ kind, id, was: now, alias }}>
          <button type="submit">Save your name</button>
        </PostForm>
        <a class="button" href={`${action}#${encodeURIComponent(`${kind}-${id}`)}`}>
          Keep the other one
        </a>
      </div>
    </>
  );
}
