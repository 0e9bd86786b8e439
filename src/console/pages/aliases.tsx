import { type RawBuilder, sql } from 'kysely';
import { aliasKinds, findAliasFault, type KnownId, mostIds } from '../../common/aliases.ts';
import type { Db } from '../../receiver/store/tables.ts';
import { changeAliases } from '../../reconcile/aliases.ts';
import { readBusinesses } from '../../reports/read.ts';
import { AliasesPage } from '../aliases/page.tsx';
import { BadInput } from '../errors.ts';
import type { Page } from '../page.ts';
import { choice, oneOf, parseForm, readForm, text } from '../read-form.ts';
import { actorOf } from '../ui/context.ts';
import { sendPage } from '../ui/page.tsx';

const filter = { kind: choice('Kind', aliasKinds), text: text.meta({ label: 'Id or name' }) };

/** Names of businesses, clinics and doctors. */
export const aliases: Page = (routes, { db, read, logAccess }) => {
  routes.get('/aliases', 'viewer', async (req, res) => {
    const { data, ...form } = parseForm(req.query, filter);
    const ids = await read((tx) => readIds(tx, data));
    sendPage(res, 'Names', <AliasesPage ids={ids} form={form} />);
  });

  routes.post('/aliases', 'operator', async (req, res) => {
    const shape = { kind: oneOf(aliasKinds), id: text, alias: text, filter: text };
    const { kind, id = '', alias = '', filter: shown = '' } = readForm(req.body, shape).data;
    if (!kind) throw new BadInput('The kind is missing.');
    const fault = findAliasFault({ id, alias });
    if (fault) throw new BadInput(`Not saved: ${fault}.`);
    await logAccess(res, { action: 'aliases', filter: { kind }, ids: { id }, rows: 1 });
    await changeAliases(db, [{ kind, id, alias }], actorOf(res).id);
    const place = encodeURIComponent(`${kind}-${id}`);
    res.redirect(303, `/console/aliases?${new URLSearchParams(shown)}#${place}`);
  });
};

const maxRecent = 5_000;

/** The newest rows of each business. */
const recent = (table: 'receipts' | 'appointments', doctor: string) => sql`
  select clinic_id, doctor from senders cross join lateral (
    select clinic_id, ${sql.ref(doctor)} as doctor from ${sql.table(`public.${table}`)} t
    where t.business_id = business and created_at is not null
    order by reporting.day(created_at) desc limit ${maxRecent}
  ) newest`;

async function readIds(
  db: Db,
  { kind, text: part }: { kind?: string | undefined; text?: string | undefined },
): Promise<KnownId[]> {
  const pattern = part && `%${part.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  const conditions: RawBuilder<unknown>[] = [sql`id <> '' and (known.id is not null or alias is not null)`];
  if (kind) conditions.push(sql`kind = ${kind}`);
  if (pattern) conditions.push(sql`(id ilike ${pattern} or alias ilike ${pattern})`);
  const businesses = await readBusinesses(db);
  const { rows } = await sql<KnownId>`
    with senders as materialized (select unnest(${businesses}) as business), recent as materialized (
      ${recent('receipts', 'doctor_oid')} union all ${recent('appointments', 'doctor_id')}
    ), known as (
      select 'business' as kind, business as id from senders
      union select 'clinic', clinic_id from recent
      union select 'doctor', doctor from recent
    )
    select kind, id, alias, updated_at, updated_by from known full join receiver.aliases using (kind, id)
    where ${sql.join(conditions, sql` and `)} order by kind, id limit ${mostIds + 1}`.execute(db);
  return rows;
}
