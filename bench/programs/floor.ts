import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { receiptCallback } from '../callbacks.ts';

// What storing callbacks costs at least: commits of as many as there are connections, without HTTP and without checks.
const [seconds, group, series] = process.argv.slice(2).map(Number) as [number, number, number];
const client = new pg.Client(process.env.DATABASE_URL);
await client.connect();
await client.query('create table floor (id uuid primary key, body jsonb not null)');
const text = 'insert into floor select * from unnest($1::uuid[], $2::jsonb[])';
let stored = 0;
const end = performance.now() + seconds * 1000;
while (performance.now() < end) {
  const ids = Array.from({ length: group }, () => randomUUID());
  const bodies = ids.map((_, index) => receiptCallback(series, stored + index));
  await client.query({ name: 'floor', text, values: [ids, bodies] });
  stored += group;
}
await client.end();
process.stdout.write(`${JSON.stringify({ stored })}\n`);
