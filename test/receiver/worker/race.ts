import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { families } from '../../../src/callbacks/families/index.ts';
import { createLog } from '../../../src/common/log.ts';
import { insertDeliveries } from '../../../src/receiver/store/insert-deliveries.ts';
import { openPool } from '../../../src/receiver/store/pools.ts';
import { createMerge } from '../../../src/receiver/worker/merge.ts';
import { createRebuild } from '../../../src/receiver/worker/rebuild.ts';
import { deliveryOf } from '../../support/intake.ts';
import type { ReceiverDatabase } from '../../support/receiver-database.ts';
import { until } from '../../support/until.ts';

const fields = ['name', 'mobile', 'net_amount', 'clinic_id', 'further'];
const start = Math.floor(Date.now() / 1000) - 86_400;

type Shown = Record<string, unknown>;

/**
 * Rounds of random histories, lean and late, which four sessions insert while three merge and one rebuilds, somebody locks rows and
 * sessions are ended.
 *
 * @param url of the database, perhaps through a pooler
 * @returns what the rows must not be: the rounds, with each record that is wrong, and the number of deadlocks
 */
export async function race(database: ReceiverDatabase, seconds: number, seed: number, url = database.url) {
  const log = createLog('silent');
  const pool = openPool(url, log, { name: 'race', connections: 12, connectTimeoutMs: 60_000 });
  const end = Date.now() + seconds * 1_000;
  let state = seed;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const retry = async <T>(call: () => Promise<T>): Promise<T> => {
    for (;;)
      try {
        return await call();
      } catch (error) {
        if (error instanceof pg.DatabaseError && !/^(57P|08|25P)/.test(error.code ?? '')) throw error;
      }
  };

  const draw = (from: number) => {
    const model = new Map<number, Shown>();
    const deliveries = Array.from({ length: 30 }, (_, n) => from + n).flatMap((id) => {
      const row: Shown = Object.fromEntries(fields.map((field) => [field, null]));
      model.set(id, row);
      return Array.from({ length: 1 + Math.floor(random() * 10) }, (_, k) => {
        const event = k === 0 ? 'created' : random() < 0.15 ? 'deleted' : 'updated';
        const data: Shown = { receipt_id: id };
        for (const field of fields)
          if (random() < (k === 0 ? 0.8 : 0.2)) {
            const number = Math.floor(random() * 1_000_000);
            data[field] = field === 'net_amount' ? number / 100 : `${field} ${number}`;
            if (random() < 0.1 && event !== 'deleted') data[field] = null;
          }
        for (const field of fields) if (field in data) row[field] = data[field];
        row.last_event = `receipt.${event}`;
        row.is_deleted = event === 'deleted';
        return deliveryOf({
          event: `receipt.${event}`,
          event_time: start + k,
          business_id: `b${id % 5}`,
          data,
        });
      });
    });
    return { model, deliveries: deliveries.sort(() => random() - 0.5) };
  };

  const merge = createMerge({ pool, families, log });
  const disturb = async () => {
    while (Date.now() < end) {
      await pause(150 + random() * 400);
      await database.rows(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'race' order by random() limit 1`,
      );
    }
  };
  const hold = async () => {
    while (Date.now() < end) {
      const client = await database.pool.connect();
      await client.query('begin; select from receipts order by random() limit 2 for update');
      await pause(random() * 100);
      await client.query('rollback');
      client.release();
      await pause(random() * 100);
    }
  };

  const rebuild = createRebuild({ pool, families, merge, log });
  const rebuildAgain = async () => {
    while (Date.now() < end) {
      await retry(() => rebuild());
      result.rebuilds += 1;
    }
  };

  const result = { rounds: 0, callbacks: 0, merges: 0, rebuilds: 0, wrong: [] as unknown[], deadlocks: 0 };
  const disturbing = Promise.all([disturb(), hold(), rebuildAgain()]);
  for (let from = 1; Date.now() < end; from += 30) {
    const { model, deliveries } = draw(from);
    result.callbacks += deliveries.length;
    let isOver = false;
    const insert = async () => {
      while (deliveries.length > 0) {
        const batch = deliveries.splice(0, 1 + Math.floor(random() * 5));
        await retry(() => insertDeliveries(pool, batch, 60_000));
      }
    };
    const mergeUntilOver = async () => {
      while (!isOver) {
        const { merged } = await retry(() => merge('receipt'));
        result.merges += 1;
        if (merged === 0) await pause(random() * 4);
      }
    };
    const merging = Promise.all([mergeUntilOver(), mergeUntilOver(), mergeUntilOver()]);
    await Promise.all([insert(), insert(), insert(), insert()]);
    await until(
      async () => (await database.rows('select from receiver.pending_deliveries limit 1')).length === 0,
    );
    isOver = true;
    await merging;
    const rows = await database.rows(
      `select receipt_id::int as id, name, mobile, net_amount::float, clinic_id, extra->>'further' as further, last_event,
              deleted_at is not null as is_deleted from receipts where receipt_id >= $1`,
      [from],
    );
    const shown = new Map(rows.map(({ id, ...row }) => [id, row]));
    for (const [id, row] of model)
      if (fieldsOf(row) !== fieldsOf(shown.get(id) ?? {})) result.wrong.push({ row, shown: shown.get(id) });
    result.rounds += 1;
  }
  await disturbing;
  const [row] = await database.rows(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  await pool.end();
  return { ...result, deadlocks: row!.deadlocks as number };
}

const fieldsOf = (row: Shown) => JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));
