import { diagnose } from '../../src/diagnostics/diagnose.ts';
import { withClient } from '../../src/store/pool.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createEmptyDatabase, useDatabase } from '../support/database.ts';
import { startPgpool } from '../support/pgpool.ts';
import { spawnReceiver } from '../support/process.ts';
import { openRedis, type TestRedis } from '../support/redis.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

let pgpool: Awaited<ReturnType<typeof startPgpool>>;
let redis: Pick<TestRedis, 'url' | 'stop'>;
beforeAll(async () => {
  redis = await openRedis();
  pgpool = await startPgpool(process.env.TEST_POSTGRES_URL!);
});
afterAll(async () => {
  await pgpool.stop();
  await redis.stop();
});

it('where every process of the pooler is in use, the error and the doctor say so, and speak of no firewall', async () => {
  const database = await createEmptyDatabase();
  const small = await startPgpool(process.env.TEST_POSTGRES_URL!, 1);
  const env = { DATABASE_URL: small.through(database.url) };
  const said = 'accepts connections, and does not answer. A connection pooler there may have no process left';
  await withClient(env.DATABASE_URL, async () => {
    const command = spawnReceiver(['migrate'], env);
    expect(await command.end()).toBe(1);
    expect(command.output()).toContain(said);
    expect(command.output()).not.toContain('firewall');
    const findings = await diagnose(env);
    expect(findings).toContainEqual({
      status: 'fail',
      name: 'database',
      detail: expect.stringContaining(said),
    });
  });
  await small.stop();
  await database.close();
});

describe.each(['redis', 'postgresql'])('with the queue on %s', (backend) => {
  const database = useDatabase({ empty: true });

  it('a pooler that leaves its own transactions open keeps nothing back: what was answered with 200 is committed, and applied', async () => {
    const service = await startTestService({
      databaseUrl: pgpool.through(database.url),
      redisUrl: backend === 'redis' ? redis.url : undefined,
      sweep: { everyMs: 200, olderThanMs: 0 },
    });
    try {
      for (let at = 1; at <= 30; at += 1) {
        // It is a write of the quarantine that the pooler begins a transaction for.
        expect((await post(service.url + paths.receipt, `{"event":"${at}`)).status).toBe(400);
        const good = receiptCallback({ data: { receipt_id: at } });
        expect((await post(service.url + paths.receipt, good)).status).toBe(200);
        const rows = await database.rows('select from inbox union all select from quarantine');
        expect(rows).toHaveLength(2 * at);
      }
      await until(async () => (await database.rows('select from receipts')).length === 30);
      await until(async () => {
        const idle = await database.rows(
          `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
        );
        return idle.length === 0;
      });
    } finally {
      await service.stop();
    }
  });
});
