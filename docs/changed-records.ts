import { sql } from 'kysely';
import { readColumns } from '../src/changes/read-records.ts';
import { reportOf } from '../src/changes/reports.ts';
import { type Family, families } from '../src/families/index.ts';
import type { Db } from '../src/store/tables.ts';

/** What JSON makes of PostgreSQL's types, by their category. */
const types: Record<string, string> = {
  A: 'unknown[]',
  B: 'boolean',
  D: 'string',
  N: 'number',
  S: 'string',
  T: 'string',
};
const exceptions: Record<string, string> = { 'text[]': 'string[]', uuid: 'string' };

/** The client's types of the records in changes: the columns of the families' views, and those that are public. */
export async function changedRecords(db: Db): Promise<string> {
  const columns = await readColumns(db, families);
  const { rows } = await sql<{ view: string; name: string; type: string; category: string }>`
    select c.relname as view, a.attname as name, format_type(t.oid, null) as type, t.typcategory as category
    from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_type t on t.oid = a.atttypid
    where c.relnamespace = 'reporting'::regnamespace and a.attnum > 0 and not a.attisdropped`.execute(db);
  const typeOf = new Map(
    rows.map(({ view, name, type, category }) => [
      `${view}.${name}`,
      exceptions[type] ?? types[category] ?? 'unknown',
    ]),
  );
  const own = (family: Family) => columns.filter(({ view }) => view === reportOf(family).view);
  const typed = (family: Family) =>
    own(family).map(({ view, name }) => {
      const type = typeOf.get(`${view}.${name}`)!;
      const isKey = name === 'business_id' || name === reportOf(family).id;
      return `${name}: ${isKey || type === 'unknown' ? type : `${type} | null`};`;
    });
  const publicOnes = (family: Family) =>
    own(family).flatMap(({ name, is_public }) => (is_public ? `'${name}'` : []));
  return `// Generated from the views of schema reporting: npm run docs.

/** The record of a change, by family: the columns of its view. Times are texts of ISO 8601 in UTC. */
export interface ChangedRecords {
${families.map((family) => `${family.name}: { ${typed(family).join(' ')} };`).join('\n')}
}

/** The columns that cannot identify a patient: those that a public token reads. */
export interface PublicColumns {
${families.map((family) => `${family.name}: ${publicOnes(family).join(' | ')};`).join('\n')}
}
`;
}
