import { addInboxCommands } from '../../src/inbox/commands.ts';
import { readDatabaseChecks } from '../../src/operations/database-checks.ts';
import type { RunningCore } from '../../src/receiver/feature.ts';
import { openApp, textOf, visitAs } from '../console/support.ts';
import { apply } from '../db/apply.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { closeLater } from '../support/close-later.ts';
import { connect } from '../support/database.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { runCommand } from '../support/run-command.ts';

const login = `reports_${process.pid}`;
afterAll(() => primary.rows(`drop role ${login}`));
const primary = useReceiverDatabase();
/** As a standby that is behind: its rows are others. */
const standby = useReceiverDatabase();

const numbered = (receipt_number: string) =>
  apply(receipt_number === 'here' ? primary : standby, [receiptCallback({ data: { receipt_number } })]);

function openReports(url: string, user: string) {
  const address = Object.assign(new URL(url), { username: user, password: 'reports' }).href;
  const { pool } = connect(address, 2);
  closeLater(() => pool.end());
  return pool;
}

const reportsCheck = async (core: RunningCore) =>
  (await readDatabaseChecks(core)).find(({ name }) => name === 'reports');

beforeAll(async () => {
  await numbered('here');
  await numbered('there');
  await primary.rows(`create role ${login} login password 'reports' in role pg_read_all_data`);
});

it('pages, downloads and receiver sql read the database of REPORT_DATABASE_URL, and the access log is the primary’s', async () => {
  const reports = openReports(standby.url, login);
  const { core, app } = openApp(primary, {}, (inner) => ({ ...inner, reports }));
  const visitor = await visitAs(app, primary, ['desk']);
  for (const path of ['/receipts?range=all', '/receipts/csv?range=all']) {
    const { status, text } = await visitor.get(path);
    expect([status, textOf(text)]).toEqual([200, expect.stringContaining('there')]);
    expect(text).not.toContain('>here<');
  }
  expect(await runCommand(core, addInboxCommands, 'sql', 'select receipt_number from receipts')).toContain(
    'there',
  );
  expect(await primary.count('access_log')).toBe(3);
});

it('the check reports warns where the standby is minutes behind, and fails where it cannot be read', async () => {
  const reports = openReports(standby.url, login);
  const { core } = openApp(primary, {}, (inner) => ({ ...inner, reports }));
  await standby.rows(`insert into receiver.heartbeats values (now() - interval '10 minutes')`);
  await primary.rows(`insert into receiver.heartbeats values (now())`);
  expect(await reportsCheck(core)).toMatchObject({ status: 'warn', since: expect.any(Date) });
  await standby.rows(`insert into receiver.heartbeats values (now() - interval '1 minute')`);
  expect(await reportsCheck(core)).toMatchObject({ status: 'ok' });
  const unreachable = openReports(standby.url, 'nobody');
  expect(await reportsCheck({ ...core, reports: unreachable })).toMatchObject({ status: 'fail' });
});

it('without REPORT_DATABASE_URL there is no such check', async () => {
  expect(await reportsCheck(openApp(primary).core)).toBeUndefined();
});
