import { sql } from 'kysely';
import type { Db } from './tables.ts';

/** The kinds of ids that can have an alias. */
export const aliasKinds = ['business', 'clinic', 'doctor'] as const;
export type AliasKind = (typeof aliasKinds)[number];

/** Aliases by id, of each kind. */
export type Aliases = Record<AliasKind, ReadonlyMap<string, string>>;

export async function readAliases(db: Db): Promise<Aliases> {
  const { rows } = await sql<{ kind: AliasKind; id: string; alias: string }>`
    select kind, id, alias from aliases order by alias`.execute(db);
  const of = (wanted: AliasKind) =>
    new Map(rows.flatMap(({ kind, id, alias }) => (kind === wanted ? [[id, alias] as const] : [])));
  return { business: of('business'), clinic: of('clinic'), doctor: of('doctor') };
}

/** A change of an alias; an empty alias deletes it. */
export interface AliasChange {
  kind: AliasKind;
  id: string;
  alias: string;
}

/**
 * Changes aliases, each id once.
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
      delete from aliases a using given g where a.kind = g.kind and a.id = g.id and g.alias = '' returning 1
    ), changed as (
      insert into aliases (kind, id, alias, updated_by)
      select kind, id, alias, ${by} from given where alias <> '' order by kind, id
      on conflict (kind, id) do update
        set alias = excluded.alias, updated_at = now(), updated_by = excluded.updated_by
        where aliases.alias <> excluded.alias
      returning 1
    )
    select (select count(*)::int from changed) as set, (select count(*)::int from deleted) as deleted`.execute(
    db,
  );
  return rows[0]!;
}

export const maxAliasLength = 200;

/** The fault of an alias; undefined: it has none. */
export function findAliasFault(id: string, alias: string): string | undefined {
  if (id === '') return 'the id is empty';
  if (/\p{Cc}/u.test(id + alias)) return 'the id or the alias has a control character';
  return alias.length > maxAliasLength ? `the alias has more than ${maxAliasLength} characters` : undefined;
}
