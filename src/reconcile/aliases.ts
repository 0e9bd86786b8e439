import { sql } from 'kysely';
import type { ServiceClient } from '../client/index.ts';
import { businessesOfInbox } from '../receiver/store/columns.ts';
import type { Db } from '../receiver/store/tables.ts';

export const aliasKinds = ['business', 'clinic', 'doctor'] as const;
export type AliasKind = (typeof aliasKinds)[number];

export const isAliasKind = (kind: unknown): kind is AliasKind => aliasKinds.some((name) => name === kind);

export type Aliases = Record<AliasKind, ReadonlyMap<string, string>>;

export const maxAliasLength = 200;

/** In a change, an empty alias removes it. */
export interface Alias {
  kind: AliasKind;
  id: string;
  alias: string;
}

export function findAliasFault({ id, alias }: { id: string; alias: string }): string | undefined {
  if (id === '') return 'the id is empty';
  if (/\p{Cc}/u.test(id + alias) || !(id + alias).isWellFormed())
    return 'the id or the alias has a character that is no text';
  return alias.length > maxAliasLength ? `the alias has more than ${maxAliasLength} characters` : undefined;
}

export const listAliases = (db: Db): Promise<Alias[]> =>
  db
    .selectFrom('receiver.aliases')
    .select(['kind', 'id', 'alias'])
    .where('alias', 'is not', null)
    .$narrowType<{ alias: string }>()
    .orderBy('kind')
    .orderBy('alias')
    .execute();

export async function readAliases(db: Db): Promise<Aliases> {
  const aliases = { business: new Map(), clinic: new Map(), doctor: new Map() };
  for (const { kind, id, alias } of await listAliases(db)) aliases[kind].set(id, alias);
  return aliases;
}

export interface IdWithAlias {
  kind: AliasKind;
  id: string;
  alias: string | null;
  updated_at: Date | null;
  updated_by: string | null;
}

/** More ids are not listed: first those without a name. */
const maxIds = 1_000;
/** Receipts, and appointments, that are read for the ids of clinics and doctors: as many of each business. */
const maxRecent = 20_000;

const recent = (table: 'receipts' | 'appointments', doctor: string) => sql`
  select clinic_id, doctor from senders cross join lateral (
    select clinic_id, ${sql.ref(doctor)} as doctor from ${sql.table(`public.${table}`)} t
    where t.business_id = senders.business_id and created_at is not null
    order by reporting.day(created_at) desc limit (select greatest(${maxRecent} / count(*), 20) from senders)
  ) newest`;

/** Ids of businesses, of clinics and doctors in recent records, and with an alias, which come last. */
export async function listIds(db: Db): Promise<IdWithAlias[]> {
  const { rows } = await sql<IdWithAlias>`
    with senders as materialized (${sql.raw(businessesOfInbox)}), recent as materialized (
      ${recent('receipts', 'doctor_oid')} union all ${recent('appointments', 'doctor_id')}
    ), sent as (
      select 'business' as kind, business_id as id from senders
      union select 'clinic', clinic_id from recent
      union select 'doctor', doctor from recent
    )
    select kind, id, alias, updated_at, updated_by from sent full join receiver.aliases using (kind, id)
    where id <> '' and length(id) <= 200 and (sent.id is not null or alias is not null)
    order by alias is not null, kind, id limit ${maxIds}`.execute(db);
  return rows;
}

type Directory = Awaited<ReturnType<ServiceClient['directory']>>['data'];

/** `updated_by` of the names of the platform's directory. */
const platform = 'platform';

/**
 * Changes aliases, each id once. The platform does not change what a person has entered or removed; a name that stays the
 * same stays the platform's.
 *
 * @param by an actor of the access log, or `platform` @returns how many were changed
 */
export async function changeAliases(db: Db, changes: readonly Alias[], by: string): Promise<number> {
  const query = sql`
    insert into receiver.aliases as a (kind, id, alias, updated_by)
    select kind, id, nullif(alias, ''), ${by}
    from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as g(kind text, id text, alias text) order by kind, id
    on conflict (kind, id) do update
      set alias = excluded.alias, updated_at = now(), updated_by = excluded.updated_by
      where a.alias is distinct from excluded.alias and (excluded.updated_by <> ${platform} or a.updated_by = ${platform})`;
  return Number((await query.execute(db)).numAffectedRows);
}

/** Takes the names of the platform's directory. Those that it lacks stay: old records have their ids. */
export async function takeNames(db: Db, { business, clinics, doctors }: Directory): Promise<void> {
  const entries = [
    { kind: 'business' as const, id: business?.business_id ?? '', name: business?.name },
    ...clinics.map(({ clinic_id: id, name }) => ({ kind: 'clinic' as const, id, name })),
    ...doctors.map(({ doctor_id: id, name }) => ({ kind: 'doctor' as const, id, name })),
  ];
  const names = new Map<string, Alias>();
  for (const { kind, id, name } of entries) {
    const alias = (name ?? '').replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
    if (alias !== '' && !findAliasFault({ id, alias })) names.set(`${kind} ${id}`, { kind, id, alias });
  }
  await changeAliases(db, [...names.values()], platform);
}
