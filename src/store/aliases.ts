import { sql } from 'kysely';
import type { Aliases, AliasKind } from '../common/aliases.ts';
import type { Db } from './tables.ts';

export * from '../common/aliases.ts';

export async function readAliases(db: Db): Promise<Aliases> {
  const { rows } = await sql<{ kind: AliasKind; id: string; alias: string }>`
    select kind, id, alias from aliases where alias is not null order by alias`.execute(db);
  const of = (wanted: AliasKind) =>
    new Map(rows.flatMap(({ kind, id, alias }) => (kind === wanted ? [[id, alias] as const] : [])));
  return { business: of('business'), clinic: of('clinic'), doctor: of('doctor') };
}

/** `updated_by` of the names that come from the platform's directory. Those of persons win. */
const platformActor = 'platform';

/** A change of an alias; an empty alias deletes it. */
export interface AliasChange {
  kind: AliasKind;
  id: string;
  alias: string;
}

/**
 * Changes aliases, each id once. A name of the platform that is deleted leaves a row without one, so that it does not come
 * back; a name that stays the same stays the platform's.
 *
 * @param by an actor of the access log
 * @returns how many were set to another name, and how many were deleted
 * @throws the database's error
 */
export async function changeAliases(db: Db, changes: readonly AliasChange[], by: string) {
  const { rows } = await sql<{ set: number; deleted: number }>`
    with given as (
      select kind, id, alias from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as g(kind text, id text, alias text)
    ), deleted as (
      delete from aliases a using given g
      where a.kind = g.kind and a.id = g.id and g.alias = '' and a.alias is not null and a.updated_by <> ${platformActor}
      returning 1
    ), removed as (
      update aliases a set alias = null, updated_at = now(), updated_by = ${by} from given g
      where a.kind = g.kind and a.id = g.id and g.alias = '' and a.updated_by = ${platformActor}
      returning 1
    ), changed as (
      insert into aliases (kind, id, alias, updated_by)
      select kind, id, alias, ${by} from given where alias <> '' order by kind, id
      on conflict (kind, id) do update
        set alias = excluded.alias, updated_at = now(), updated_by = excluded.updated_by
        where aliases.alias is distinct from excluded.alias
      returning 1
    )
    select (select count(*)::int from changed) as set,
           (select count(*)::int from (table deleted union all table removed) as gone) as deleted`.execute(
    db,
  );
  return rows[0]!;
}

/**
 * Sets names of the platform's directory, each id once, where nobody has set or removed one.
 *
 * @returns how many were set to another name
 * @throws the database's error
 */
export async function setPlatformAliases(db: Db, names: readonly AliasChange[]): Promise<number> {
  const { numAffectedRows } = await sql`
    insert into aliases (kind, id, alias, updated_by)
    select kind, id, alias, ${platformActor}
    from jsonb_to_recordset(${JSON.stringify(names)}::jsonb) as given(kind text, id text, alias text)
    order by kind, id
    on conflict (kind, id) do update set alias = excluded.alias, updated_at = now()
      where aliases.updated_by = excluded.updated_by and aliases.alias <> excluded.alias`.execute(db);
  return Number(numAffectedRows);
}
