import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { families } from '../../../src/callbacks/families/index.ts';
import { createLog } from '../../../src/common/log.ts';
import { insertDeliveries } from '../../../src/receiver/store/insert-deliveries.ts';
import { openPool } from '../../../src/receiver/store/pools.ts';
import { createMerge } from '../../../src/receiver/worker/merge.ts';
import { rebuildRows } from '../../../src/receiver/worker/rebuild.ts';
import { seededRandom } from '../../../src/sandbox/random.ts';
import { createHistories } from '../../chaos/histories.ts';
import { deliveryOf } from '../../support/intake.ts';
import type { ReceiverDatabase } from '../../support/receiver-database.ts';
import { until } from '../../support/until.ts';

/**
 * Rounds of random histories, lean and late, which four sessions insert while three merge and one rebuilds, another locks rows and
 * sessions are ended.
 *
 * @param goesOn asked before each round with the number of those before
 * @param url of the database, perhaps through a pooler
 * @returns what the rows must not be: those that are wrong, and the number of deadlocks
 */
export async function race(
  database: ReceiverDatabase,
  goesOn: (rounds: number) => boolean,
  seed: number,
  url = database.url,
) {
  const log = createLog('silent');
  const pool = openPool(url, log, { name: 'race', connections: 12, connectTimeoutMs: 60_000 });
  let isRacing = true;
  const random = seededRandom(seed, 0);
  const histories = createHistories(random);
  const retry = async <T>(call: () => Promise<T>): Promise<T> => {
    for (;;)
      try {
        return await call();
      } catch (error) {
        if (error instanceof pg.DatabaseError && !/^(57P|08|25P)/.test(error.code ?? '')) throw error;
      }
  };

  const merge = createMerge({ pool, families, log });
  const endSessions = async () => {
    while (isRacing) {
      await pause(random.between(150, 550));
      await database.rows(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'race' order by random() limit 1`,
      );
    }
  };
  const lockRows = async () => {
    while (isRacing) {
      const client = await database.pool.connect();
      await client.query('begin; select from receipts order by random() limit 2 for update');
      await pause(random.between(0, 100));
      await client.query('rollback');
      client.release();
      await pause(random.between(0, 100));
    }
  };
  const rebuild = () => rebuildRows({ pool, families, merge, log });
  const rebuildAgain = async () => {
    while (isRacing) await retry(() => rebuild());
  };

  const disturbing = Promise.all([endSessions(), lockRows(), rebuildAgain()]);
  for (let rounds = 0; goesOn(rounds); rounds += 1) {
    const deliveries = histories.next().map(({ body }) => deliveryOf(body));
    let isOver = false;
    const insert = async () => {
      while (deliveries.length > 0) {
        const batch = deliveries.splice(0, random.between(1, 5));
        await retry(() => insertDeliveries(pool, batch, 60_000));
      }
    };
    const mergeUntilOver = async () => {
      while (!isOver)
        for (const family of ['receipt', 'consent_form']) {
          const { merged } = await retry(() => merge(family));
          if (merged === 0) await pause(random.between(0, 4));
        }
    };
    const merging = Promise.all([mergeUntilOver(), mergeUntilOver(), mergeUntilOver()]);
    await Promise.all([insert(), insert(), insert(), insert()]);
    await until(async () => (await database.count('receiver.pending_deliveries limit 1')) === 0);
    isOver = true;
    await merging;
  }
  isRacing = false;
  await disturbing;
  const wrong = await histories.wrongRows(database.rows);
  const [row] = await database.rows(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  await pool.end();
  return { wrong, deadlocks: row!.deadlocks as number };
}
