import { setTimeout as pause } from 'node:timers/promises';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const database = useDatabase();

it('inserts that timed out do not accumulate behind a locked table', async () => {
  const service = await startTestService({ databaseUrl: database.url, role: 'receiver' });
  const target = `${service.url}${paths.receipt}`;
  const waiting = () =>
    database.rows(
      `select xact_start::text as begun from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like '%as incoming(id uuid%'`,
    );
  const owner = await database.pool.connect();
  try {
    expect((await post(target, receiptCallback())).status).toBe(200);
    await owner.query('begin; lock table inbox');
    const counts: number[] = [];
    const inserts = new Set<string>();
    const sent: Promise<Response>[] = [];
    while (inserts.size < 5) {
      const callback = receiptCallback({ data: { receipt_id: 100 + sent.length } });
      sent.push(post(target, callback));
      const rows = await waiting();
      for (const { begun } of rows) inserts.add(begun as string);
      counts.push(rows.length);
      await pause(100);
    }
    const responses = await Promise.all(sent);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]));
    expect(Math.max(...counts)).toBeLessThanOrEqual(2);
    await until(async () => (await waiting()).length === 0);
    await owner.query('rollback');
    await until(async () => (await post(target, receiptCallback())).status === 200);
  } finally {
    owner.release(true);
    await service.stop();
  }
});
