import { readdirSync } from 'node:fs';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestDatabase } from './database.ts';

export const ownSchema = join(import.meta.dirname, '../../db');

/** The names of our migrations, in their order. */
export const migrations = readdirSync(join(ownSchema, 'migrations'))
  .map((file) => file.replace('.sql', ''))
  .sort();

/**
 * Runs a function with a copy of db/ in which some files are replaced.
 *
 * @param files by their paths within db/, such as `migrations/0002_more.sql`
 */
export async function withSchema(files: Record<string, string>, run: (folder: string) => Promise<void>) {
  const folder = await mkdtemp(join(tmpdir(), 'schema-'));
  try {
    await cp(ownSchema, folder, { recursive: true });
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
    await run(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The catalogue of the schemas public and reporting: a line for each object, sorted. */
export async function readCatalogue(database: TestDatabase): Promise<string[]> {
  const rows = await database.rows(`
    with schemas as (select oid, nspname from pg_namespace where nspname in ('public', 'reporting')),
    relations as (
      select c.*, format('%I.%I', nspname, relname) as name
      from pg_class c join schemas n on n.oid = relnamespace where relkind <> 'i'
    )
    select concat_ws(' | ', kind, name, definition, comment, (
      select string_agg(item::text, ',' order by item::text) from unnest(acl) item
    )) as line from (
      select 'schema' as kind, nspname::text as name, null as definition,
        obj_description(oid, 'pg_namespace') as comment, nspacl as acl
      from pg_namespace where nspname = 'reporting'
      union all
      select 'relation', name, concat_ws(' ', relkind, relpersistence, reloptions), obj_description(oid, 'pg_class'), relacl
      from relations
      union all
      select 'column', r.name || '.' || attname,
        concat_ws(' ', row_number() over (partition by attrelid order by attnum), format_type(atttypid, atttypmod),
          case when attnotnull then 'not null' end, attidentity, attgenerated, attcollation::regcollation,
          pg_get_expr(adbin, adrelid)),
        col_description(attrelid, attnum), attacl
      from pg_attribute a join relations r on r.oid = attrelid
      left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attnum > 0 and not attisdropped
      union all
      select 'constraint', r.name || '.' || conname, pg_get_constraintdef(c.oid), obj_description(c.oid, 'pg_constraint'), null
      from pg_constraint c join relations r on r.oid = conrelid
      union all
      select 'index', indexrelid::regclass::text, pg_get_indexdef(indexrelid) || ' ' || indisvalid,
        obj_description(indexrelid, 'pg_class'), null
      from pg_index join relations r on r.oid = indrelid
      union all
      select 'view', name, pg_get_viewdef(oid), null, null from relations where relkind in ('v', 'm')
      union all
      select 'trigger', r.name || '.' || tgname, pg_get_triggerdef(t.oid) || ' ' || tgenabled::text, obj_description(t.oid, 'pg_trigger'), null
      from pg_trigger t join relations r on r.oid = tgrelid where not tgisinternal
      union all
      select 'function', p.oid::regprocedure::text,
        case prokind when 'a' then (select aggtransfn::text from pg_aggregate where aggfnoid = p.oid) else pg_get_functiondef(p.oid) end, obj_description(p.oid, 'pg_proc'), proacl
      from pg_proc p join schemas n on n.oid = pronamespace
      union all
      select 'statistics', stxname, pg_get_statisticsobjdef(s.oid), obj_description(s.oid, 'pg_statistic_ext'), null
      from pg_statistic_ext s join schemas n on n.oid = stxnamespace
      union all
      select 'type', format_type(t.oid, null), typtype::text, obj_description(t.oid, 'pg_type'), typacl
      from pg_type t join schemas n on n.oid = typnamespace
      union all
      select 'default privileges', n.nspname, defaclobjtype::text, null, defaclacl
      from pg_default_acl join schemas n on n.oid = defaclnamespace
    ) things
    order by line`);
  return rows.map(({ line }) => line as string);
}
