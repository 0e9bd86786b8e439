import { hostname } from 'node:os';
import { createLeases } from '../../src/store/lease.ts';
import { consentFormCallback, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';
import { runCommand } from '../support/run-command.ts';

const database = useDatabase();

async function run(retention: string, ...args: string[]): Promise<string> {
  const env = { DATABASE_URL: database.url, RETENTION: retention };
  const { code, output } = await runCommand(['retention', ...args], env);
  return `${output}${code === 0 ? '' : `exit ${code}`}`;
}

/** The numbers of the table, by policy and table. */
function figuresOf(output: string): string[][] {
  const cells = output.split('\n').filter((line) => line.includes('│'));
  return cells.slice(1).map((line) => {
    const [, policy, , table, rows] = line.split('│').map((cell) => cell.trim());
    return [policy!, table!, rows!];
  });
}

it('a dry run prints what a run then deletes, which is logged with the user of the command', async () => {
  await apply(database, [
    receiptCallback(),
    receiptCallback({ event: 'receipt.updated', event_time: 1_700_000_100 }),
    consentFormCallback(),
    receiptCallback({ event_time: Math.floor(Date.now() / 1000), data: { receipt_id: 5 } }),
  ]);
  const retention = 'receipt=1y,consent_form=8y';
  const dry = await run(retention, '--dry-run');
  expect(figuresOf(dry)).toEqual([
    ['receipt', 'receipts', '1'],
    ['receipt', 'receipt_versions', '1'],
    ['receipt', 'deliveries', '2'],
    ['consent_form', '', '0'],
    ['erased', '', '0'],
  ]);
  expect(await database.rows('select 1 from receipts')).toHaveLength(2);
  expect(await database.rows('select 1 from access_log')).toEqual([]);

  expect(figuresOf(await run(retention))).toEqual(figuresOf(dry));
  expect(await database.rows('select receipt_id from receipts')).toEqual([{ receipt_id: '5' }]);
  expect(await database.rows('select actor, address, action, rows from access_log')).toEqual([
    { actor: expect.stringMatching(/^command:./), address: hostname(), action: 'retention', rows: '4' },
  ]);
});

it('a mistake in RETENTION is named before anything is deleted', async () => {
  const output = await run('receipts=8y,quarantine=soon,access_log=1d');
  for (const part of [
    'RETENTION has no receipts',
    'quarantine a duration',
    'access_log for at least 1y',
    'exit 78',
  ])
    expect(output).toContain(part);
});

it('it gives up where another process deletes', async () => {
  await createLeases(database.db).run('retention', async () => {
    expect(await run('receipt=1d')).toContain('Another process is deleting');
  });
});
