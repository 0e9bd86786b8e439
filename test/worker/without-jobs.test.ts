import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import type { ApplyJob } from '../../src/queue/backend.ts';
import { idsPerJob } from '../../src/queue/delivery-queue.ts';
import { rememberPendingSince } from '../../src/store/pending-since.ts';
import { createApplyWithoutJobs } from '../../src/worker/without-jobs.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { insertCallbacks } from '../support/deliveries.ts';
import { post, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const { database, start } = useService({ per: 'test' });

const names = families.map(({ name }) => name);

it('all that is pending is handed out once, in parts, however new it is', async () => {
  const callbacks = Array.from({ length: 2 * idsPerJob + 1 }, (_, receipt_id) =>
    receiptCallback({ data: { receipt_id } }),
  );
  const ids = await insertCallbacks(database, callbacks);
  const handed: string[][] = [];
  const apply: ApplyJob = async (job) => {
    handed.push(job.ids);
  };
  const pendingSince = rememberPendingSince(database.pool);
  const found = await createApplyWithoutJobs(database.db, apply, 2, pendingSince)(names);
  expect(found).toBe(ids.length);
  expect(handed.map(({ length }) => length).sort()).toEqual([1, idsPerJob, idsPerJob]);
  expect(handed.flat().sort()).toEqual(ids.toSorted());
});

it("while an old snapshot keeps the deleted rows of the queue's tables, deliveries are applied without jobs, and with jobs afterwards", async () => {
  const lines: string[] = [];
  const holder = await database.pool.connect();
  try {
    await holder.query('begin isolation level repeatable read; select 1');
    const client = await database.pool.connect();
    await client.query(`insert into bullmq.job (queue, id, seq, name, state, added_at_ms)
      select 'x', n::text, n, 'apply', 'waiting', 0 from generate_series(1, 20000) n;
      delete from bullmq.job`);
    client.release(true); // then it reports its statistics
    await until(async () => {
      const [row] = await database.rows(
        `select pg_stat_get_dead_tuples('bullmq.job'::regclass)::int as dead`,
      );
      return row!.dead === 20_000;
    });
    const { url } = await start({
      log: createLog('info', { write: (line: string) => void lines.push(line) }),
    });
    const logged = (text: string) => until(() => lines.some((line) => line.includes(text)));
    // Every job takes a number, which no rollback gives back.
    const jobs = async () =>
      (await database.rows(`select (last_value - (not is_called)::int)::int as n from bullmq.job_seq`))[0]!
        .n as number;
    const applied = (receipt_id: number) =>
      until(async () => {
        const found = await database.rows('select from receipts where receipt_id = $1', [receipt_id]);
        return found.length === 1;
      });
    const send = async (receipt_id: number) => {
      const { status } = await post(url + paths.receipt, receiptCallback({ data: { receipt_id } }));
      expect(status).toBe(200);
      await applied(receipt_id);
    };
    await logged('deliveries are applied without jobs');
    const before = await jobs();
    for (const id of [1, 2, 3]) await send(id);
    expect(await jobs()).toBe(before);
    await holder.query('rollback');
    // As autovacuum does, again and again: it keeps what a transaction of any other database may still see.
    await until(
      async () => {
        await database.rows('vacuum bullmq.job');
        return lines.some((line) => line.includes('deliveries get jobs again'));
      },
      undefined,
      500,
    );
    await send(4);
    expect(await jobs()).toBeGreaterThan(before);
    const counts = await database.rows(`select (select count(*)::int from applied_deliveries) as applied,
      (select count(*)::int from pending_deliveries) as pending, (select count(*)::int from receipts) as receipts`);
    expect(counts).toEqual([{ applied: 4, pending: 0, receipts: 4 }]);
  } finally {
    holder.release(true);
  }
});
