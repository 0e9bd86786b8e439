import { sql, type Transaction } from 'kysely';
import pg from 'pg';
import type { SchemaChange } from './change-schema.ts';
import type { Tables } from './tables.ts';

export interface SqlFile {
  /** Without its extension. */
  name: string;
  text: string;
}

/** The name of the views and functions in the list of migrations. */
export const reporting = 'reporting';

// invalid_table_definition, invalid_function_definition: columns of a view were removed, renamed or retyped.
// dependent_objects_still_exist, feature_not_supported: a view reads the column that is dropped or retyped.
const viewsInTheWay = new Set(['42P16', '42P13', '2BP01', '0A000']);

/**
 * Runs the files of db/reporting, all views and functions, in one transaction. Views are replaced in
 * place, so grants on them and the views of others on top of them stay. The last process to start wins, so that
 * a version that is rolled back has its own views again.
 *
 * @throws Error where a view must be dropped and somebody else's depends on it; nothing has changed then
 */
export async function applyReporting(
  change: SchemaChange,
  files: readonly SqlFile[],
  checksum: string,
): Promise<void> {
  await withoutViewsInTheWay(change, reporting, files, async (trx) => {
    for (const { text } of files) await sql.raw(text).execute(trx);
    await restoreGrants(trx);
    await sql`
      insert into receiver_migrations (name, checksum) values (${reporting}, ${checksum})
      on conflict (name) do update set checksum = excluded.checksum, run_at = now()`.execute(trx);
  });
}

/**
 * Runs a step in a transaction. Where views stand in its way, they are dropped first, in the same transaction;
 * `applyReporting` re-creates them with the grants that they had.
 */
export async function withoutViewsInTheWay(
  change: SchemaChange,
  name: string,
  files: readonly SqlFile[],
  step: (trx: Transaction<Tables>) => Promise<void>,
): Promise<void> {
  try {
    await change.transaction(name, step);
  } catch (error) {
    if (!viewsInTheWay.has((error as { code?: string }).code ?? '')) throw error;
    await change.transaction(name, async (trx) => {
      await dropViews(trx, files, error);
      await step(trx);
    });
  }
}

/** Drops the views and functions of these files and notes the grants on them. Those of others are left alone. */
async function dropViews(
  trx: Transaction<Tables>,
  files: readonly SqlFile[],
  reason: unknown,
): Promise<void> {
  const named = (pattern: RegExp) =>
    files.flatMap(({ text }) => [...text.matchAll(pattern)].flatMap(([, names]) => names!.split(/,\s+/)));
  const functions = named(/create or replace function (reporting\.\w+)/g);
  // Also those of former versions, which read others.
  const known = [
    ...named(/create or replace view ([\w.]+)/g),
    ...named(/drop view if exists\s+([^;]+?) cascade;/g),
  ];
  // A release may have had a table of this name.
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${known}::text[]) as name join pg_class on oid = to_regclass(name) where relkind = 'v'
    `.execute(trx);
  const views = rows.map(({ name }) => name);
  await sql`
    insert into saved_grants (view, column_name, privileges)
    select name, null, relacl
    from unnest(${views}::text[]) as name join pg_class on oid = to_regclass(name) where relacl is not null
    union all
    select name, attname, attacl
    from unnest(${views}::text[]) as name join pg_attribute on attrelid = to_regclass(name)
    where attacl is not null`.execute(trx);
  try {
    // It returns rows of a view; the views call the other functions.
    await sql`drop function if exists reporting.receipts_as_of`.execute(trx);
    // In one statement, because they depend on one another in any order.
    await sql.raw(`drop view if exists ${views.join(', ')}`).execute(trx);
    await sql.raw(`drop function if exists ${functions.join(', ')}`).execute(trx);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== '2BP01') throw error;
    throw new Error(
      `the views of the schema reporting must be re-created, and other objects depend on them (${error.detail}); ` +
        'drop those (pg_get_viewdef shows a definition), start again, and create them again',
      { cause: reason },
    );
  }
}

/**
 * Gives the views that were dropped the grants that they had, and no others; except for reporting_masked, whose file has
 * decided them.
 */
async function restoreGrants(trx: Transaction<Tables>): Promise<void> {
  const { rows } = await sql<{ statement: string }>`
    with saved as (
      select c.oid::regclass as view, c.relowner, c.relacl, column_name, privileges
      from saved_grants join pg_class c on c.oid = to_regclass(view)
      where column_name is null or exists (
        select from pg_attribute where attrelid = c.oid and attname = column_name and not attisdropped
      )
    ), statements as (
      select 1 as step, grantee, format('revoke all on %s from', view) as statement, '' as options
      from saved, aclexplode(relacl) where column_name is null and grantee <> relowner
      union
      select 2, grantee,
        format('grant %s%s on %s to', privilege_type, ' (' || quote_ident(column_name) || ')', view),
        case when is_grantable then 'with grant option' else '' end
      from saved, aclexplode(privileges) where grantee <> relowner
    )
    select concat_ws(' ', statement, coalesce(quote_ident(rolname), 'public'), options) as statement
    from statements left join pg_roles r on r.oid = grantee
    where grantee = 0 or r.rolname <> 'reporting_masked'
    order by step`.execute(trx);
  for (const { statement } of rows) await sql.raw(statement).execute(trx);
  await sql`delete from saved_grants`.execute(trx);
}
