import { createLog } from '../../src/common/log.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import { checkSums } from '../../src/worker/sums.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';
import { runCommand } from '../support/run-command.ts';

const database = useDatabase();

async function run(...args: string[]): Promise<string> {
  const { code, output } = await runCommand(['reports', ...args], { DATABASE_URL: database.url });
  return `${output}exit ${code}`;
}

const day = '2023-11-15';
const totals = () =>
  database.rows('select business_id, net_amount from reporting.receipts_daily order by business_id');

it('a check names days whose sums are wrong, a rebuild makes them again', async () => {
  await apply(
    database,
    ['b1', 'b2'].map((business_id) => receiptCallback({ business_id, data: { net_amount: 5 } })),
  );
  expect(await run('rebuild')).toMatch(/The kept sums were made again\.\nexit 0/);
  expect(await run('check')).toMatch(/The kept sums are those of the rows\.\nexit 0/);

  await database.rows(`update kept_activities set net_amount = 7 where business_id = 'b2'`);
  const found = await run('check');
  expect(found).toContain(`wrong: activities of business b2 on ${day}`);
  expect(found).toMatch(/1 days have wrong sums\. Run: receiver reports rebuild\nexit 1/);
  expect(found).not.toContain('business b1');
  expect(await run('check', '--since', '2023-11-16')).toContain('exit 0');
  expect(await run('check', '--business', 'b1')).toContain('exit 0');
  expect(await run('check', '--since', 'yesterday')).toContain('A day must be a date');

  expect(await run('rebuild', '--business', 'b2')).toContain('exit 0');
  expect(await totals()).toEqual([
    { business_id: 'b1', net_amount: '5' },
    { business_id: 'b2', net_amount: '5' },
  ]);
  expect(await database.rows('select 1 from outdated_days')).toEqual([]);
});

it('sums that the daily check finds wrong are right afterwards, and are a problem until a rebuild', async () => {
  await database.rows('update kept_activities set receipts = receipts + 1');
  await checkSums(database.db, { log: createLog('silent') });
  expect(await database.rows('select receipts from reporting.receipts_daily')).toEqual([
    { receipts: '1' },
    { receipts: '1' },
  ]);
  const problems = async () => (await readProblems(database.pool)).map(({ kind, status }) => [kind, status]);
  expect(await problems()).toEqual([['wrong sums', 'warn']]);
  await run('rebuild');
  expect(await problems()).toEqual([]);
  await checkSums(database.db, { log: createLog('silent') });
  expect(await problems()).toEqual([]);
});
