import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { csvWriter } from '../common/csv.ts';
import { printRows } from '../common/terminal.ts';
import type { Core } from '../receiver/feature.ts';
import { commandActor, logAccess } from '../receiver/store/log-access.ts';

const asText = { getTypeParser: () => (value: unknown) => value };

/** With the first clause of their comments. */
const views = `
  select oid::regclass as view, substring(obj_description(oid, 'pg_class') from '^.*?(?=[.;:] |$)') as about from pg_class
  where relnamespace::regnamespace::text in ('public', 'reporting') and relkind = 'v' and has_table_privilege(oid, 'select')
  order by relnamespace::regnamespace::text, relname`;

/**
 * Runs one statement in a read-only transaction, and prints its rows behind an entry of the access log. Without a statement it
 * lists the views that can be read.
 */
export async function printQuery(
  core: Core,
  text = views,
  { json = false, csv = false }: { json?: boolean; csv?: boolean },
): Promise<void> {
  const { connectionString } = core.reports.options;
  const client = new pg.Client({ connectionString, application_name: 'receiver sql' });
  client.on('error', () => {}); // of the query
  try {
    await client.connect();
    // After the first query, `set transaction read write` is an error.
    await client.query('begin read only; select');
    // The extended protocol accepts one statement only. Arrays: columns may have the same name.
    const query = { text, types: asText, queryMode: 'extended', rowMode: 'array' } as pg.QueryArrayConfig;
    const { rows, fields } = await client.query<(string | null)[]>(query);
    // Without the statement, which may contain personal data.
    await logAccess(core, { actor: commandActor(), action: 'sql', rows: rows.length });
    if (fields.length === 0)
      throw new Error('This statement returns no rows. For a file of rows there is --csv');
    const names = fields.map(({ name }) => name);
    if (csv) await pipeline(rows, csvWriter(names), process.stdout, { end: false });
    else printRows(names, rows, json);
  } catch (error) {
    // The database's message may contain values.
    if (!(error instanceof pg.DatabaseError)) throw error;
    await logAccess(core, { actor: commandActor(), action: 'sql' });
    throw new Error(error.message);
  } finally {
    await client.end().catch(() => {});
  }
}
