import { createLog } from '../../src/common/log.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import { old, sessions, slots } from '../../src/health/server.ts';
import { openDatabase } from '../../src/store/database.ts';
import { startPrimary, startStandby, type TestServer } from '../support/standby.ts';
import { until } from '../support/until.ts';

let primary: TestServer;
beforeAll(async () => {
  primary = await startPrimary();
});
afterAll(() => primary.stop());
afterEach(() => jest.restoreAllMocks());

const feedback = ['hot_standby_feedback=on', 'wal_receiver_status_interval=1s'];

it.each([
  ['without a slot', sessions, 'The standby standby keeps', []],
  ['with a slot', slots, 'The standby of replication slot feedback keeps', ['primary_slot_name=feedback']],
])('a standby whose feedback keeps deleted rows is named (%s)', async (_, check, title, settings) => {
  if (settings.length > 0) await primary.rows(`select pg_create_physical_replication_slot('feedback', true)`);
  const standby = await startStandby(primary, [...feedback, ...settings]);
  const database = openDatabase(primary.url, createLog('silent'), { connections: 1, name: 'test' });
  try {
    const read = async () => (await check.read(database.pool)).map((problem) => problem.title);
    expect(await read()).toEqual([]);
    jest.replaceProperty(old, 'transactions', -1);
    await until(async () => (await read()).includes(`${title} PostgreSQL from removing deleted rows`));
    const found = await readProblems(database.pool);
    const detail = found.find((problem) => problem.title.startsWith(title))!.detail;
    expect(detail).toContain('hot_standby_feedback');
    expect(detail).not.toContain('pg_terminate_backend');
  } finally {
    await database.close();
    await standby.stop();
  }
});
