import Table from 'cli-table3';
import type { Command } from 'commander';
import type { Environment } from './environment.ts';
import { withDatabase } from './with-database.ts';

// Every value as PostgreSQL writes it.
const asText = { getTypeParser: () => (value: unknown) => value };

/** `receiver sql`: runs a query and prints its rows, for a machine that has no psql. */
export function addSqlCommand(program: Command, env: Environment): void {
  program
    .command('sql')
    .description('run a query on the service’s database and print the rows')
    .argument('<query>', 'such as: select count(*) from receipts')
    .option('--json', 'a JSON object a line instead of a table')
    .action((query: string, { json }: { json?: true }) =>
      withDatabase(env, async ({ database }) => {
        const { rows, fields } = await database.pool.query({ text: query, types: asText });
        if (json) {
          for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
        } else {
          const table = new Table({ head: fields.map(({ name }) => name), style: { head: [], border: [] } });
          table.push(...rows.map((row) => fields.map(({ name }) => row[name] ?? '')));
          process.stdout.write(`${table.toString()}\n${rows.length} ${rows.length === 1 ? 'row' : 'rows'}\n`);
        }
      }),
    );
}
