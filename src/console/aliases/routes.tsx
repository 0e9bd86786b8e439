import { sql } from 'kysely';
import {
  type AliasKind,
  aliasKinds,
  changeAliases,
  findAliasFault,
  maxAliasLength,
} from '../../store/aliases.ts';
import type { Db } from '../../store/tables.ts';
import type { Section } from '../dependencies.ts';
import { BadInput } from '../errors.ts';
import { actorOf } from '../log-access.ts';
import { choice, parseForm, readForm, text } from '../read-form.ts';
import { allOf, businesses, read } from '../store.ts';
import { useMayPost } from '../ui/context.ts';
import { type FilterForm, Filters } from '../ui/filters.tsx';
import { EntryForm, PostForm, Submit } from '../ui/forms.tsx';
import { sendPage } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount, Moment, Nothing } from '../ui/values.tsx';

const kind = choice('Kind', aliasKinds);

export const section: Section = {
  addRoutes(routes, { db, logAccess }) {
    routes.get('/aliases', 'viewer', async (req, res) => {
      const { data, ...form } = parseForm(req.query, { kind, text: text.meta({ label: 'Id or name' }) });
      sendPage(res, 'Aliases', <AliasesPage ids={await readKnownIds(db, data)} form={form} />);
    });

    routes.get('/aliases/options', 'viewer', async (req, res) => {
      res.json(await findAliases(db, parseForm(req.query, { kind, text }).data));
    });

    routes.post('/aliases', 'operator', async (req, res) => {
      // The filter is the query of the page that the change was made on.
      const { data } = readForm(req.body, { kind, id: text, alias: text, filter: text });
      const { id = '', alias = '', filter } = data;
      const fault = data.kind ? findAliasFault(id, alias) : 'the kind is missing';
      if (!data.kind || fault) throw new BadInput(`Not saved: ${fault}.`);
      const changed = { kind: data.kind, id };
      await db.transaction().execute(async (tx) => {
        await logAccess(res, { action: 'aliases', filter: changed, rows: 1 }, tx);
        await changeAliases(tx, [{ ...changed, alias }], actorOf(res).id);
      });
      const anchor = encodeURIComponent(`${data.kind}-${id}`);
      res.redirect(303, `/console/aliases?${new URLSearchParams(filter)}#${anchor}`);
    });
  },
};

const action = '/console/aliases';

/** An operator edits them in place. */
function AliasesPage({ ids, form }: { ids: readonly KnownId[]; form: FilterForm }) {
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
        title="Another id"
        fields={[
          { name: 'kind', label: 'Kind of the id', kind: 'choice', options: aliasKinds, any: false },
          { name: 'id', label: 'Id', required: true, autocomplete: 'off' },
          { name: 'alias', label: 'Name', required: true, autocomplete: 'off' },
        ]}
        submit="Save"
      />
    </>
  );
}

function AliasForm({ kind, id, alias, filter }: KnownId & { filter: string }) {
  return (
    <PostForm action={action} values={{ kind, id, filter }} class="in-place">
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

/** Which ids to show; absent fields do not filter. */
type IdFilter = { kind?: AliasKind | undefined; text?: string | undefined };

interface KnownId {
  kind: AliasKind;
  id: string;
  alias: string | null;
  updated_at: Date | null;
  updated_by: string | null;
}

const mostIds = 500;

const mostSenders = 5_000;

/**
 * The newest rows of a table, of each business equally many, and of so many businesses: the time grows neither with the table
 * nor with the businesses.
 */
const newest = (table: 'receipts' | 'appointments', doctor: 'doctor_oid' | 'doctor_id') => sql`
  select clinic_id, doctor from (select business from senders limit ${mostSenders}) s cross join lateral (
    select clinic_id, ${sql.ref(doctor)} as doctor from ${sql.table(table)} t where t.business_id = business
    order by reporting.day(coalesce(created_at, event_time)) desc
    limit (select greatest(1, 10000 / greatest(1, count(*))) from senders)
  ) newest`;

const mostOptions = 50;

/** Aliases whose id or name contains a text: the choices of a field while somebody types. */
async function findAliases(db: Db, { kind, text = '' }: IdFilter) {
  const pattern = patternOf(text);
  const found = sql<{ id: string; alias: string }>`
    select id, alias from aliases where kind = ${kind} and alias is not null and (id ilike ${pattern} or alias ilike ${pattern})
    order by alias, id limit ${mostOptions}`;
  return read(db, found);
}

const patternOf = (text: string) => `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;

/** The ids of businesses, and of clinics and doctors in recent data, and all that have an alias. */
function readKnownIds(db: Db, { kind, text }: IdFilter): Promise<KnownId[]> {
  const pattern = text && patternOf(text);
  const known = sql<KnownId>`
    with senders as materialized (select unnest(array${businesses}) as business), recent as materialized (
      ${newest('receipts', 'doctor_oid')} union all ${newest('appointments', 'doctor_id')}
    ), known as (
      select 'business' as kind, business as id from senders
      union select 'clinic', clinic_id from recent
      union select 'doctor', doctor from recent
    )
    select kind, id, alias, updated_at, updated_by
    from known full join aliases using (kind, id)
    where ${allOf([
      sql`id <> ''`,
      kind && sql`kind = ${kind}`,
      pattern && sql`(id ilike ${pattern} or alias ilike ${pattern})`,
    ])}
    order by kind, id
    limit ${mostIds + 1}`;
  return read(db, known);
}
