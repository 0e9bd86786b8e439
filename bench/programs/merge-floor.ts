import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { receiptColumns } from '../callbacks.ts';

// The least that a row costs that is the merge of its callbacks: one statement, no families, no reports, nothing that can fail.
const client = new pg.Client(process.env.DATABASE_URL);
await client.connect();
await client.query('set synchronous_commit = off; set jit = off');
const columns = Object.entries(receiptColumns).filter(
  ([name]) => name !== 'business_id' && name !== 'receipt_id',
);
const text = `
  with taken as (
    delete from waiting where n = any(array(select n from waiting where n > $1 order by n limit 20)) returning n, ids
  ),
  records as materialized (
    select distinct business, record from callbacks where id = any(array(select unnest(ids) from taken))
  ), merged as materialized (
    select business, record, (select merge(body->'data' order by version) from callbacks c
      where c.business = r.business and c.record = r.record) as d
    from records r
  ), written as (
    insert into receipts (business_id, receipt_id, ${columns.map(([name]) => name).join(', ')})
    select business, record, ${columns.map(([name, type]) => `(d->>'${name}')::${type}`).join(', ')} from merged
    on conflict (business_id, receipt_id) do update set ${columns.map(([name]) => `${name} = excluded.${name}`).join(', ')}
  )
  select count(*)::int as taken, max(n)::int as last from taken`;
process.stdout.write(`${JSON.stringify({ msg: 'ready' })}\n`);
// Two commits may end in another order than they began. Below are only rows that are gone, which a scan would pass.
let begin = 0;
for (;;) {
  const { rows } = await client.query<{ taken: number; last: number }>({
    name: 'merge',
    text,
    values: [begin],
  });
  if (rows[0]!.taken === 0) await pause(5);
  else begin = rows[0]!.last - 10;
}
