import { setTimeout as pause } from 'node:timers/promises';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterAll(() => database.close());

it('inserts that timed out do not accumulate behind a locked table', async () => {
  const service = await startTestService({ databaseUrl: database.url, role: 'receiver' });
  const target = `${service.url}${paths.receipt}`;
  const waiting = async () => {
    const [row] = await database.rows(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into deliveries%'`,
    );
    return row!.n as number;
  };
  const owner = await database.pool.connect();
  try {
    expect((await post(target, receiptCallback())).status).toBe(200);
    await owner.query('begin; lock table deliveries');
    const counts: number[] = [];
    const sent: Promise<Response>[] = [];
    // A waiting insert takes about a second, so about five are made one after the other.
    for (const end = Date.now() + 5_000; Date.now() < end; await pause(100)) {
      const callback = receiptCallback({ data: { receipt_id: 100 + sent.length } });
      sent.push(post(target, callback));
      counts.push(await waiting());
    }
    const responses = await Promise.all(sent);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]));
    expect(Math.max(...counts)).toBeGreaterThan(0);
    expect(Math.max(...counts)).toBeLessThanOrEqual(2);
    await until(async () => (await waiting()) === 0, 3_000);
    await owner.query('rollback');
    await until(async () => (await post(target, receiptCallback())).status === 200);
  } finally {
    owner.release(true);
    await service.stop();
  }
});
