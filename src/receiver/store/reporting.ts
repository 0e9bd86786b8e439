import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Family } from '../../callbacks/families/family.ts';
import { numberKeyOf, wordsIn } from '../../common/plain-text.ts';
import { array, columnsOf, literal, quoted, tableOf, valuesOf } from './columns.ts';
import { hasState, TablesRefused } from './errors.ts';
import { searchIndexesOf } from './search-indexes.ts';
import { type Db, readSetting, writeSettings } from './tables.ts';
import { publicViewColumns } from './view-columns.ts';

const folder = join(import.meta.dirname, '../../../db');
const roles = ['receiver_service', 'reporting_masked', 'reporting_reader'];

/** SQL of the files of db/reporting and db/roles.sql, with what only the families know in place of {{ }}. */
export async function readReporting(families: readonly Family[], timezone: string): Promise<string> {
  const files = (await readdir(join(folder, 'reporting'))).sort().map((file) => join('reporting', file));
  const read = (file: string) => readFile(join(folder, file), 'utf8');
  const text = (await Promise.all([...files, 'roles.sql'].map(read))).join('\n');
  const receipt = families.find(({ name }) => name === 'receipt')!;
  const values = valuesOf(receipt);
  const facts: Record<string, string> = {
    timezone: literal(timezone),
    receipt: Object.keys(columnsOf(receipt))
      .map((name, n) => `${values[n]} as ${quoted(name)}`)
      .join(', '),
    number_key: numberKeyOf('number'),
    name_lexemes: wordsIn('name'),
    search_indexes: searchIndexesOf(families),
    views: array(viewsOf(text)),
    tables: array(families.map(tableOf)),
    public_columns: array(publicViewColumns),
  };
  return text.replace(/\{\{(\w+)\}\}/g, (_, name) => facts[name]!);
}

const viewsOf = (text: string) =>
  [...text.matchAll(/create or replace view (\S+) as/g)].map(([, name]) => name!);

/** With the roles that have rights: one that was made since has none yet, and a dump may be restored without them. */
async function hashOf(tx: Db, text: string): Promise<string> {
  const { rows } = await sql`
    select rolname, has_schema_privilege(rolname, to_regnamespace('reporting'), 'usage') as has_rights
    from pg_roles where rolname = any(${roles}) order by 1`.execute(tx);
  return hash('sha256', JSON.stringify([text, rows]));
}

/**
 * Makes the views, and gives roles their rights: in place where they have the same columns, or more of them, so that the rights
 * on them stay, and what others have made of them.
 *
 * @param isDue even if the text is the same
 * @returns whether anything was done
 */
export async function makeViews(tx: Db, text: string, isDue: boolean): Promise<boolean> {
  if (!isDue && (await readSetting(tx, 'reporting')) === (await hashOf(tx, text))) return false;
  const views = viewsOf(text);
  await sql`savepoint views`.execute(tx);
  try {
    await sql.raw(text).execute(tx);
    await dropViews(tx, views);
  } catch (error) {
    if (!hasState(error, 'invalidTableDefinition', 'invalidFunctionDefinition')) throw error;
    await sql`rollback to savepoint views`.execute(tx);
    await dropViews(tx);
    await sql.raw(text).execute(tx);
  }
  await writeSettings(tx, { reporting: await hashOf(tx, text), reporting_views: views.join(', ') });
  return true;
}

/** Drops the views that were made last, but for `kept`. @throws TablesRefused that names what depends on them */
export async function dropViews(tx: Db, kept: readonly string[] = []): Promise<void> {
  const made = (await readSetting(tx, 'reporting_views'))?.split(', ') ?? [];
  const dropped = made.filter((name) => !kept.includes(name));
  if (dropped.length === 0) return;
  try {
    if (kept.length === 0) await sql`drop function if exists reporting.receipts_as_of`.execute(tx);
    await sql.raw(`drop view if exists ${dropped.join(', ')}`).execute(tx);
  } catch (error) {
    if (!hasState(error, 'dependentObjects')) throw error;
    throw new TablesRefused(
      `The views of reporting have other columns now, and others depend on them: ${error.detail}. Save and drop those, run receiver migrate, and make them again`,
    );
  }
}
