import { applyDeliveries } from '../../src/apply/apply.ts';
import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { history } from '../../src/sandbox/history.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { planForAnySize } from '../../src/store/transaction-settings.ts';

/** Deliveries per measured rate. */
const chunk = 100_000;
const job = 200;
const businesses = 200;

// One receipt per second, years before those of the load, with ids like those of the inbox.
const insert = `
with made as (
  insert into inbox (id, event, family, client_id, business_id, event_time, envelope)
  select (lpad(to_hex((1.3e9::bigint + n) * 1000), 12, '0') || '8' || substr(md5(n::text), 1, 3)
           || '8' || substr(md5(n::text), 4, 15))::uuid,
         'receipt.created', 'receipt', $1::jsonb->>'client_id', business, to_timestamp(1.3e9 + n),
         $1::jsonb || jsonb_build_object(
           'business_id', business, 'event_time', 1.3e9::bigint + n,
           'data', $1::jsonb->'data' || jsonb_build_object('receipt_id', n))
  from generate_series($2::bigint, $3::bigint) n, lateral (select 'b' || n % ${businesses} as business) b
  returning id, family, received_at
)
insert into pending_deliveries (id, family, received_at) select * from made returning id`;

/**
 * Fills an empty database with deliveries, each of a different receipt, and applies them in jobs as a worker does: all on
 * one connection that is opened before the first.
 *
 * @returns deliveries applied per second, for each 100,000
 */
export async function fill(url: string, rows: number, progress: (done: number) => void): Promise<number[]> {
  const { value: sample } = history({ seed: 1 }).next();
  const log = createLog('warn');
  const inserting = openDatabase(url, log, { connections: 2, name: 'bench' });
  const applying = openDatabase(url, log, { connections: 1, name: 'bench apply', settings: planForAnySize });
  await migrate(inserting.db, log);
  const rates: number[] = [];
  try {
    for (let done = 0; done < rows; done += chunk) {
      const last = Math.min(done + chunk, rows);
      const { rows: made } = await inserting.pool.query<{ id: string }>(insert, [
        sample.body,
        done + 1,
        last,
      ]);
      const ids = made.map(({ id }) => id);
      const began = performance.now();
      for (let at = 0; at < ids.length; at += job) {
        await applyDeliveries(applying.db, families, ids.slice(at, at + job), { preparedOn: applying.pool });
      }
      rates.push(ids.length / ((performance.now() - began) / 1000));
      progress(last);
    }
    await inserting.pool.query('vacuum analyze');
    await inserting.pool.query('checkpoint');
  } finally {
    await applying.close();
    await inserting.close();
  }
  return rates;
}
