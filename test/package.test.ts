import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { tempFolder } from './support/temp-folder.ts';

const run = promisify(execFile);

const project = `
import { createServiceClient, loginTokenSource } from 'webhook-receiver/client';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { defineFamily, integer, type RowOf, text } from 'webhook-receiver/family';
import { defineHandler } from 'webhook-receiver/handler';
import { callbacks, families, sandboxCredentials, sendCallbacks, registeredUrls, startSandbox } from 'webhook-receiver/sandbox';
import type { Functions, Tables } from 'webhook-receiver/tables';

const sandbox = await startSandbox();
const token = loginTokenSource({ baseUrl: sandbox.url, ...sandboxCredentials });
const client = createServiceClient({ baseUrl: sandbox.url, token });
const { drugs } = await client.searchDrugsAndLabs({ q: 'paracetamol', limit: 2 });
// @ts-expect-error a query is a text
export const search = () => client.searchDrugsAndLabs({ q: 1 });
const sent = callbacks({ seed: 1, count: 3, families });
const { outcomes } = await sendCallbacks(sent, { urlOf: registeredUrls(sandbox.url) });
const path = { default: ['/invoices'] };
const fields = { number: integer, note: text };
// @ts-expect-error no field has that name
defineFamily({ name: 'wrong', events: {}, path, table: 'wrongs', fields, key: 'id' });
const invoice = defineFamily({ name: 'invoice', events: {}, path, table: 'invoices', fields, key: 'number' });
declare module 'webhook-receiver/handler' {
  interface Families { invoice: typeof invoice }
}
const handler = defineHandler({
  name: 'both',
  families: ['receipt', 'invoice'],
  run: async (event) => {
    if (event.family === 'receipt') {
      const paid: string | null | undefined = event.record?.amount_paid;
      const kind: 'receipt.created' | 'receipt.updated' | 'receipt.deleted' | undefined = event.callback?.event;
      return [paid, kind];
    }
    // @ts-expect-error an invoice has no amount
    return [event.record?.note, event.record?.amount_paid];
  },
});
// @ts-expect-error there is no such family
defineHandler({ name: 'none', families: ['bill'], run: async () => {} });
declare module 'webhook-receiver/tables' {
  interface Tables { invoices: RowOf<typeof invoice> }
}
const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: new pg.Pool() }) });
const takings = db.selectFrom('reporting.payments').select(['day', 'amount']).where('business_id', '=', 'b');
const notes = db.selectFrom('invoices').select('note');
const before = sql<Functions['reporting.receipts_as_of']>\`reporting.receipts_as_of(\${new Date()})\`.as('r');
const queries = [takings, notes, db.selectFrom(before).select('paid_amount')].map((query) => query.compile().sql);
// @ts-expect-error a view has no such column
export const wrong = () => db.selectFrom('reporting.payments').select('amont');
export const amounts = async (): Promise<(string | null)[]> => (await takings.execute()).map((row) => row.amount);
process.stdout.write(JSON.stringify([drugs.length, outcomes, invoice.key, handler.name, queries]));
await sandbox.close();
`;

it('a project of TypeScript uses client, sandbox, family, handler and tables of the packed package, with their types', async () => {
  const folder = tempFolder();
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: object };
  const modules = join(folder, 'node_modules');
  for (const name of [...Object.keys(dependencies), '@types/node', '@types/pg']) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(resolve('node_modules', name), join(modules, name));
  }
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
  const { stdout: archive } = await run('npm', pack);
  mkdirSync(join(modules, 'webhook-receiver'));
  const into = ['-C', join(modules, 'webhook-receiver'), '--strip-components=1'];
  await run('tar', ['-xzf', join(folder, archive.trim()), ...into]);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'use.ts'), project);
  const documented = /```ts\n([\s\S]*?)```/.exec(readFileSync('docs/reporting.md', 'utf8'))![1]!;
  writeFileSync(join(folder, 'documented.ts'), documented);
  const options =
    '--strict --module nodenext --target es2023 --skipLibCheck --types node use.ts documented.ts';
  await run(resolve('node_modules/.bin/tsc'), options.split(' '), { cwd: folder });
  const { stdout } = await run(process.execPath, ['use.js'], { cwd: folder });
  expect(JSON.parse(stdout)).toEqual([
    2,
    { '401': 3 },
    'number',
    'both',
    [
      'select "day", "amount" from "reporting"."payments" where "business_id" = $1',
      'select "note" from "invoices"',
      'select "paid_amount" from reporting.receipts_as_of($1) as "r"',
    ],
  ]);
});
