import Table from 'cli-table3';
import type { Command } from 'commander';
import pg from 'pg';
import type { Environment } from '../config.ts';
import { printable } from './printable.ts';
import { withDatabase } from './with-database.ts';

// Every value as PostgreSQL writes it.
const asText = { getTypeParser: () => (value: unknown) => value };

/**
 * `receiver sql`: runs a statement and prints its rows, for a machine that has no psql.
 *
 * Without --write PostgreSQL itself refuses every change of data, in a transaction that is read-only and stays so.
 * It does not stop what works outside of transactions, for a user who may do that: functions such as
 * pg_terminate_backend, dblink, or COPY to a file of the server.
 */
export function addSqlCommand(program: Command, env: Environment): void {
  program
    .command('sql')
    .description('run a statement on the service’s database and print the rows')
    .argument('<statement>', 'such as: select count(*) from receipts')
    .option('--json', 'a JSON object a line instead of a table')
    .option('--write', 'let it change data')
    .action((statement: string, { json, write }: { json?: true; write?: true }) =>
      withDatabase(env, async ({ database }) => {
        const { rows, fields } = await run(database.pool, statement, write);
        if (json) {
          // Of JSON's own control characters none is left, so these are all within its strings.
          for (const row of rows) process.stdout.write(`${printable(JSON.stringify(row))}\n`);
        } else {
          const table = new Table({
            head: fields.map(({ name }) => printable(name)),
            style: { head: [], border: [] },
          });
          table.push(...rows.map((row) => fields.map(({ name }) => printable(row[name] ?? ''))));
          process.stdout.write(`${table.toString()}\n${rows.length} ${rows.length === 1 ? 'row' : 'rows'}\n`);
        }
      }),
    );
}

async function run(
  pool: pg.Pool,
  text: string,
  write = false,
): Promise<pg.QueryResult<Record<string, string>>> {
  const client = await pool.connect();
  try {
    // Once something was read, the transaction cannot be made one that writes.
    if (!write) await client.query('begin read only; select 1');
    // The extended protocol takes one statement and no more.
    return await client.query({ text, types: asText, queryMode: 'extended' } as pg.QueryConfig);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== readOnly) throw error;
    throw new Error(`${error.message}; --write lets a statement change data`, { cause: error.cause });
  } finally {
    client.release(true); // which ends the transaction too
  }
}

const readOnly = '25006';
