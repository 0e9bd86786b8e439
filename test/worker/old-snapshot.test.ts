import type pg from 'pg';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { backlogQuery } from '../../src/health/figures.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import { listDeliveries } from '../../src/intake/list-deliveries.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { type PendingSince, rememberPendingSince } from '../../src/store/pending-since.ts';
import { readTables } from '../../src/store/read-tables.ts';
import { planForAnySize } from '../../src/store/transaction-settings.ts';
import { createSweep } from '../../src/worker/sweep.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { insertCallbacks } from '../support/deliveries.ts';

const deadRows = 100_000;
const few = 100;

describe('while a snapshot keeps 100,000 deleted rows', () => {
  // Before the database is closed.
  afterAll(async () => {
    holder.release(true);
    await single.close();
  });
  const database = useDatabase();
  let single: Database;
  let holder: pg.PoolClient;
  let pendingSince: PendingSince;
  let pending: string | undefined;

  beforeAll(async () => {
    single = openDatabase(database.url, createLog('silent'), {
      connections: 1,
      name: 'single',
      settings: planForAnySize,
    });
    holder = await database.pool.connect();
    await holder.query('begin isolation level repeatable read; select 1');
    // The pages that autovacuum reads would be counted, too.
    await single.pool.query('alter table pending_deliveries set (autovacuum_enabled = off)');
    // On one connection, whose statistics are counted before the tests.
    await single.pool.query(`
      insert into pending_deliveries
      select gen_random_uuid(), 'receipt', now() - interval '2 minutes' - n * interval '1 ms'
      from generate_series(${deadRows}, 1, -1) n;
      delete from pending_deliveries`);
    await single.pool.query('select pg_stat_force_next_flush()');
    [pending] = await insertCallbacks({ ...database, ...single }, [receiptCallback()]);
    await single.pool.query(`update pending_deliveries set received_at = now() - interval '100 s'`);
    pendingSince = rememberPendingSince(single.pool, 1e6);
    await pendingSince();
  });

  /** The pages of the table and its indexes that were read so far. */
  const pagesRead = async () => {
    await single.pool.query('select pg_stat_force_next_flush()');
    const { rows } = await single.pool.query(`
      select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int as pages
      from pg_statio_all_tables where relid = 'pending_deliveries'::regclass`);
    return rows[0].pages as number;
  };
  const pagesOf = async (run: () => Promise<unknown>) => {
    const before = await pagesRead();
    await run();
    return (await pagesRead()) - before;
  };

  const readers: Record<string, (since: PendingSince) => Promise<unknown>> = {
    'the sweep': async (since) => {
      const queue = { countWaiting: async () => 0, enqueueOverdue: async () => {} };
      expect(await createSweep(single.db, queue, 0, since)(['receipt'])).toBe(1);
    },
    metrics: async (since) => expect(await readTables(single.pool, since)).toMatchObject({ received: 1 }),
    problems: async (since) => {
      const [problem] = await readProblems(single.pool, since);
      expect(problem).toMatchObject({ kind: 'no worker', subject: 'receipt' });
    },
    Health: async (since) => {
      const { rows } = await backlogQuery(await since()).execute(single.db);
      expect(rows).toEqual([{ oldest: expect.any(Date), waiting: 1 }]);
    },
    'the list of deliveries': async (since) => {
      const { rows } = await listDeliveries(
        single.db,
        families,
        { status: 'received' } as never,
        {},
        50,
        await since(),
      );
      expect(rows.map(({ id }) => id)).toEqual([pending]);
    },
  };
  it.each(Object.keys(readers))('%s reads few pages, and what waits', async (name) => {
    const read = readers[name]!;
    expect(await pagesOf(() => read(async () => '-infinity'))).toBeGreaterThan(5 * few);
    expect(await pagesOf(() => read(pendingSince))).toBeLessThan(few);
  });

  it('storing and applying deliveries reads few pages', async () => {
    const pages = await pagesOf(async () => {
      const [id] = await insertCallbacks({ ...database, ...single }, [
        receiptCallback({ data: { receipt_id: 2 } }),
      ]);
      const applied = await applyDeliveries(single.db, families, [id!], { preparedOn: single.pool });
      expect(applied).toMatchObject({ applied: 1, changed: 1 });
    });
    expect(pages).toBeLessThan(few);
  });
});
