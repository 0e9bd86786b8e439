import { applyStatement } from '../../src/apply/apply-statement.ts';
import { receipt } from '../../src/families/receipt.ts';
import { history } from '../../src/sandbox/history.ts';
import { withClient } from '../../src/store/pool.ts';

const chunk = 50_000;
const businesses = 200;

// One receipt per second, years before those of the load, with ids like those of the inbox.
const insert = `
insert into deliveries (id, event, family, client_id, business_id, event_time, envelope, status, applied_at)
select (lpad(to_hex((1.3e9::bigint + n) * 1000), 12, '0') || '8' || substr(md5(n::text), 1, 3)
         || '8' || substr(md5(n::text), 4, 15))::uuid,
       'receipt.created', 'receipt', $1::jsonb->>'client_id', business, to_timestamp(1.3e9 + n),
       $1::jsonb || jsonb_build_object(
         'business_id', business, 'event_time', 1.3e9::bigint + n,
         'data', $1::jsonb->'data' || jsonb_build_object('receipt_id', n)),
       'received', now()
from generate_series($2::bigint, $3::bigint) n, lateral (select 'b' || n % ${businesses} as business) b
returning id`;

/** Fills a database with applied deliveries, each of a different receipt. */
export async function fill(url: string, rows: number, progress: (done: number) => void): Promise<void> {
  const { value: sample } = history({ seed: 1 }).next();
  await withClient(url, async (client) => {
    for (let done = 0; done < rows; done += chunk) {
      const last = Math.min(done + chunk, rows);
      const { rows: made } = await client.query<{ id: string }>(insert, [sample.body, done + 1, last]);
      await client.query(applyStatement([receipt]), [made.map(({ id }) => id), ['received']]);
      progress(last);
    }
    await client.query('vacuum analyze');
    await client.query('checkpoint');
  });
}
