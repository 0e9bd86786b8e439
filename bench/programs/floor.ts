import { hash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import pg from 'pg';

// The least that a callback costs until its 200: HTTP, JSON, a hash, one narrow table, a commit for all that wait. With
// MERGES a row for each commit tells merge-floor.ts which callbacks are to be merged, and two commits are in flight.
const { DATABASE_URL: connectionString, MERGES: merges } = process.env;
const commitsInFlight = merges ? 2 : 1;
const pool = new pg.Pool({ connectionString, max: commitsInFlight });
const insertion = `insert into callbacks select * from unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::jsonb[])`;
const text = merges
  ? `with stored as (${insertion} returning id) insert into waiting (ids) select array_agg(id) from stored`
  : insertion;

interface Item {
  values: [id: string, business: string, record: number, version: string, body: string];
  resolve: () => void;
}
let waiting: Item[] = [];
let committing = 0;

async function commit(): Promise<void> {
  committing += 1;
  await new Promise(setImmediate);
  while (waiting.length > 0) {
    const batch = waiting;
    waiting = [];
    const values = [0, 1, 2, 3, 4].map((column) => batch.map((item) => item.values[column]));
    await pool.query({ name: 'insertion', text, values });
    for (const { resolve } of batch) resolve();
  }
  committing -= 1;
}

async function read(req: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of req) parts.push(part);
  return Buffer.concat(parts);
}

const server = createServer(async (req, res) => {
  const body = await read(req);
  const { event_time: time, business_id: business, data } = JSON.parse(body.toString());
  const digest = hash('sha256', body);
  const id = [8, 12, 16, 20, 32].map((end, n) => digest.slice([0, 8, 12, 16, 20][n], end)).join('-');
  await new Promise<void>((resolve) => {
    waiting.push({ values: [id, business, data.receipt_id, `${time} ${id}`, body.toString()], resolve });
    if (committing < commitsInFlight) void commit();
  });
  res
    .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 21 })
    .end('{"status":"accepted"}');
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${JSON.stringify({ msg: 'ready', url: `http://127.0.0.1:${port}` })}\n`);
});
