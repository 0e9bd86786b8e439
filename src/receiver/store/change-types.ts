import { sql } from 'kysely';
import pg from 'pg';
import type { Family } from '../../callbacks/families/family.ts';
import { kinds } from '../../callbacks/families/field.ts';
import { TablesRefused } from './errors.ts';
import type { Db } from './tables.ts';

/**
 * Gives columns the types of their fields, in place: rows, rights, comments and indexes stay, and so do values as far as they
 * convert. A rebuild reads them from the callbacks again. Readers of the table wait meanwhile: 5 s for a million rows.
 *
 * @param tx a transaction
 * @throws TablesRefused that names the views that depend on them: they have to be dropped, and made again afterwards
 */
export async function changeTypes(tx: Db, family: Family, columns: readonly string[]): Promise<void> {
  const table = `public.${pg.escapeIdentifier(family.table)}`;
  const views = await sql<{ name: string }>`
    select distinct r.ev_class::regclass::text as name
    from pg_depend d join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
    join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
    where d.refclassid = 'pg_class'::regclass and d.refobjid = to_regclass(${table}) and a.attname = any(${columns})
    order by 1`.execute(tx);
  if (views.rows.length > 0) {
    const names = views.rows.map(({ name }) => name).join(', ');
    throw new TablesRefused(
      `These views keep the types of ${columns.join(', ')} from being changed: ${names}. Save and drop them, run receiver migrate, and make them again`,
    );
  }
  for (const name of columns) {
    const { column, select } = kinds[family.fields[name]!.kind];
    const [quoted, key] = [pg.escapeIdentifier(name), pg.escapeLiteral(name)];
    // PostgreSQL 14 cannot ask whether a value converts.
    const statements = `
      create function receiver.converted(data jsonb) returns ${column} language plpgsql as $convert$
        begin return ${select('data', key)}; exception when data_exception then return null; end $convert$;
      alter table ${table} alter column ${quoted} type ${column} using receiver.converted(jsonb_build_object(${key}, ${quoted}));
      drop function receiver.converted(jsonb)`;
    await sql.raw(statements).execute(tx);
  }
}
