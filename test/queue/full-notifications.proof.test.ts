import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createLog } from '../../src/common/log.ts';
import type { Problem } from '../../src/health/problem.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import type { Service } from '../../src/service/service.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { copyCluster } from '../support/cluster.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const count = 600;
const folder = mkdtempSync(join(tmpdir(), 'receiver-notifications-'));
let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
let database: Database;
let service: (Service & { url: string }) | undefined;
const lines: string[] = [];
const log = createLog('info', { write: (line: string) => void lines.push(line) });

beforeAll(async () => {
  copyCluster(folder, 'migrated');
  // The smallest: half a megabyte instead of eight gigabytes.
  server = await startEmbeddedPostgres(folder, createLog('silent'), [
    'max_notify_queue_pages=64',
    'fsync=off',
  ]);
  database = openDatabase(server.url, createLog('silent'), { connections: 3, name: 'test' });
});
afterAll(async () => {
  await service?.stop();
  await database.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function connect() {
  const client = new pg.Client({ connectionString: server.url, application_name: 'listener' });
  client.on('error', () => {}); // it is ended by the advice
  await client.connect();
  return client;
}

/** Fills the queue up to a part of it. */
async function fill(part: number): Promise<void> {
  const text = `select pg_notify('x', n || repeat('-', 7000)) from generate_series(1, 3) n`;
  for (let usage = 0; usage < part; ) {
    await database.pool.query(text).catch((error) => expect(error).toMatchObject({ code: '54000' }));
    const { rows } = await database.pool.query('select pg_notification_queue_usage() as usage');
    usage = rows[0].usage;
  }
}

let sent = 0;
async function send(): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    sent += 1;
    const callback = receiptCallback({ data: { receipt_id: sent } });
    // A busy machine may take more than a second for a commit: then it is sent again.
    await until(async () => (await post(service!.url + paths.receipt, callback)).status === 200);
  }
}
const allAreApplied = () =>
  until(async () => {
    const { rows } = await database.pool.query(`select (select count(*)::int from receipts) as receipts,
      (select count(*)::int from pending_deliveries) as pending`);
    return rows[0].receipts === sent && rows[0].pending === 0;
  });
const countJobs = async () => {
  const { rows } = await database.pool.query(
    'select (last_value - (not is_called)::int)::int as n from bullmq.job_seq',
  );
  return rows[0].n as number;
};
const ofQueue = async () => (await readProblems(database.pool)).filter(({ kind }) => kind === 'queue');
const startService = async () => {
  service = await startTestService({ databaseUrl: server.url, log });
};

it('while a session keeps the queue of notifications full, deliveries are applied without jobs, and the session is named; after its end they get jobs again', async () => {
  await startService();
  const blocker = await connect();
  const { rows } = await blocker.query('select pg_backend_pid() as pid');
  const { pid } = rows[0] as { pid: number };
  await blocker.query('listen x');
  await blocker.query('begin');
  await blocker.query('select 1');

  await fill(0.6);
  const title = /^PostgreSQL's queue of notifications is more than half full$/;
  expect(await ofQueue()).toEqual([
    expect.objectContaining({ status: 'warn', title: expect.stringMatching(title) }),
  ]);
  await send();
  await allAreApplied();

  await fill(1);
  await send();
  await allAreApplied();
  expect(lines.join()).toMatch(/queue of notifications is full.*deliveries are applied without jobs/);

  await service!.stop();
  await startService();
  await send();
  await allAreApplied();

  // PostgreSQL names it once in five seconds, to one session.
  const problem = await until(
    async () => (await ofQueue()).find(({ detail }) => /The oldest is kept by session/.test(detail)),
    30_000,
    500,
  );
  expect(problem.title).toBe("PostgreSQL's queue of notifications is full");
  expect(problem.detail).toContain(`kept by session ${pid} (application listener`);

  lines.length = 0;
  const jobs = await countJobs();
  await database.pool.query(adviceOf(problem));
  await until(() => lines.some((line) => line.includes('deliveries get jobs again')));
  expect(await ofQueue()).toEqual([]);
  await send();
  await allAreApplied();
  await until(async () => (await countJobs()) > jobs);
});

const adviceOf = ({ detail }: Problem) => /To end it: (select pg_terminate_backend\(\d+\))/.exec(detail)![1]!;
