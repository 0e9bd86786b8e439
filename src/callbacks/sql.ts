import pg from 'pg';
import { commandActor, logAccess } from '../common/access-log.ts';
import { printRows } from '../common/output.ts';
import type { Core } from '../feature.ts';

// Every value as PostgreSQL's text.
const asText = { getTypeParser: () => (value: unknown) => value };

/** Runs one statement in a read-only transaction, and prints its rows behind an entry of the access log. */
export async function printQuery(
  core: Core,
  text: string,
  { json = false }: { json?: boolean },
): Promise<void> {
  const client = await core.pool.connect();
  try {
    // After the first query, `set transaction read write` is an error.
    // A superuser, such as that of the embedded database, may also run programs and read files.
    await client.query(
      `begin read only; select set_config('role', 'pg_read_all_data', true) from pg_roles where rolname = current_user and rolsuper`,
    );
    // The extended protocol accepts one statement only. Arrays: columns may have the same name.
    const query = { text, types: asText, queryMode: 'extended', rowMode: 'array' } as pg.QueryArrayConfig;
    const { rows, fields } = await client.query<(string | null)[]>(query);
    // Without the statement, which may contain personal data.
    await logAccess(core, { actor: commandActor(), action: 'sql', rows: rows.length });
    printRows(
      fields.map(({ name }) => name),
      rows,
      json,
    );
  } catch (error) {
    // The database's message may contain values.
    if (error instanceof pg.DatabaseError) await logAccess(core, { actor: commandActor(), action: 'sql' });
    throw error;
  } finally {
    client.release(true);
  }
}
