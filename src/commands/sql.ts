import pg from 'pg';
import { printRows } from '../common/output.ts';
import { readerUrl } from '../store/embedded/cluster.ts';
import { withClient } from '../store/pool.ts';
import { type AddCommand, logCommand, type Opened, onDatabase } from './with-database.ts';

// Every value as PostgreSQL's text.
const asText = { getTypeParser: () => (value: unknown) => value };

/**
 * `receiver sql`: runs a statement and prints its rows, for a machine without psql. Each is an entry of the access log.
 *
 * Without --write the statement runs in a read-only transaction, in which PostgreSQL rejects every change of data; in the
 * embedded database as a role that may only read. With DATABASE_URL this does not prevent effects outside of transactions,
 * where its role has the permission: functions such as pg_terminate_backend, dblink, or COPY to a file of the server.
 */
export const addSqlCommand: AddCommand = (program, env) => {
  program
    .command('sql')
    .description('run a statement on the receiver’s database and print its rows')
    .argument('<statement>', 'for example: select count(*) from receipts')
    .option('--json', 'print one JSON object per line instead of a table; a second column a becomes a_2')
    .option('--write', 'allow changes of data')
    .action(onDatabase(env, printResult));
};

async function printResult(
  opened: Opened,
  statement: string,
  { json, write }: { json?: true; write?: true },
): Promise<void> {
  const { rows, fields } = await runLogged(opened, statement, write);
  printRows(
    fields.map(({ name }) => name),
    rows,
    json,
  );
}

/** The log holds no statements: they may contain personal data. */
async function runLogged({ config, db, url }: Opened, statement: string, write = false) {
  if (write) {
    await logCommand(db, { action: 'sql', filter: { write } });
    return withClient(url, (client) => run(client, statement, write));
  }
  const readOnlyUrl = config.databaseUrl ? url : readerUrl(url);
  const entry = { action: 'sql', filter: { write } } as const;
  try {
    const result = await withClient(readOnlyUrl, (client) => run(client, statement));
    await logCommand(db, { ...entry, rows: result.rows.length });
    return result;
  } catch (error) {
    // The database's message may contain values.
    if (error instanceof pg.DatabaseError) await logCommand(db, entry);
    throw error;
  }
}

/** @param client whose end, after this, ends the transaction too */
async function run(client: pg.Client, text: string, write = false) {
  try {
    // After the first query, `set transaction read write` is an error.
    if (!write) await client.query('begin read only; select 1');
    // The extended protocol accepts one statement only. Arrays: columns may have the same name.
    const query = { text, types: asText, queryMode: 'extended', rowMode: 'array' } as pg.QueryArrayConfig;
    return await client.query<(string | null)[]>(query);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== readOnly) throw error;
    throw new Error(`${error.message}; use --write to allow changes of data`, { cause: error.cause });
  }
}

const readOnly = '25006';
