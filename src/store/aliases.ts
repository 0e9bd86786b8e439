import { type Kysely, sql } from 'kysely';
import type { Tables } from './tables.ts';

/** What can have an alias: a name for its id. */
export const aliasKinds = ['business', 'clinic', 'doctor'] as const;
export type AliasKind = (typeof aliasKinds)[number];

/** Aliases by id, of each kind. */
export type Aliases = Record<AliasKind, ReadonlyMap<string, string>>;

export async function readAliases(db: Kysely<Tables>): Promise<Aliases> {
  const { rows } = await sql<{ kind: AliasKind; id: string; alias: string }>`
    select kind, id, alias from aliases order by alias`.execute(db);
  const of = (wanted: AliasKind) =>
    new Map(rows.flatMap(({ kind, id, alias }) => (kind === wanted ? [[id, alias] as const] : [])));
  return { business: of('business'), clinic: of('clinic'), doctor: of('doctor') };
}
