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
import { oneOf, readForm, text } from '../read-form.ts';
import { ownPath } from '../sign-in/origin.ts';
import { Chip } from '../ui/chips.tsx';
import { hrefTo, useMay, visitOf } from '../ui/context.ts';
import { PostForm } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { formatCount, Moment, Nothing, titled } from '../ui/values.tsx';

const path = '/names';

/** Names for the ids of businesses, clinics and doctors. */
export const names: Page = (routes, { db, read, logAccess }) => {
  routes.get(path, 'viewer', async (req, res) => {
    const entered = readForm(req.query, { kind: oneOf(aliasKinds), text });
    const page = { path, entered };
    const kinds = aliasKinds.map((kind) => [kind, titled(kind)] as const);
    const typed = [{ name: 'text', label: 'A part of the id or of the name' }];
    const bar = (
      <>
        <Chip {...page} name="kind" choices={kinds} />
        <Chip {...page} name="text" label="Id or name" fields={typed} />
      </>
    );
    const ids = await read((tx) => listIds(tx, entered));
    sendPage(res, 'Names', <Names ids={ids} next={hrefTo(path, entered)} />, { bar });
  });

  routes.post(path, 'operator', async (req, res) => {
    const shape = { id: text, alias: text, next: text, kind: oneOf(aliasKinds) };
    const { kind, id = '', alias = '', next } = readForm(req.body, shape);
    if (!kind) throw new BadInput('The kind is missing.');
    const fault = findAliasFault({ id, alias });
    if (fault) throw new BadInput(`Not saved: ${fault}.`);
    await logAccess(res, { action: 'aliases', filter: { kind }, ids: { id }, rows: 1 });
    await changeAliases(db, [{ kind, id, alias }], visitOf(res).actor.id);
    res.redirect(303, `${ownPath(next)}#${encodeURIComponent(`${kind}-${id}`)}`);
  });
};

function Names({ ids, next }: { ids: readonly IdWithAlias[]; next: string }) {
  return (
    <>
      <p class="note">
        All businesses, and the clinics and doctors of recent receipts and appointments.{' '}
        {useMay('operator') ? 'An empty name shows the id.' : 'To change names takes the role operator.'}
        {ids.length > maxIds && ` These are the first ${formatCount(maxIds)}: filter them.`}
      </p>
      <IdTable ids={ids.slice(0, maxIds)} empty="No matching ids." next={next} />
    </>
  );
}

interface IdTableProps {
  /** Undefined: they took too long to read. */
  ids: readonly IdWithAlias[] | undefined;
  empty: string;
  /** The page that its forms lead back to. */
  next: string;
}

/** Ids, each with a form for its name. */
export function IdTable({ ids, empty, next }: IdTableProps) {
  const mayEdit = useMay('operator');
  return (
    <Table
      label="Ids and their names"
      rows={ids}
      empty={empty}
      columns={[
        ['Kind', ({ kind }) => titled(kind)],
        ['Id', ({ kind, id }) => <span id={`${kind}-${id}`}>{id}</span>],
        ['Name', (entry) => (mayEdit ? <NameForm {...entry} next={next} /> : (entry.alias ?? <Nothing />))],
        ...(ids?.some(({ updated_at }) => updated_at) ? changes : []),
      ]}
    />
  );
}

const changes: readonly Column<IdWithAlias>[] = [
  ['Changed', ({ updated_at }) => <Moment at={updated_at} />],
  ['By', ({ updated_by }) => updated_by ?? <Nothing />],
];

function NameForm({ kind, id, alias, next }: IdWithAlias & { next: string }) {
  return (
    <PostForm action={hrefTo(path)} least="operator" values={{ kind, id, next }} class="actions">
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
