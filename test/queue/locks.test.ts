import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { createLog } from '../../src/common/log.ts';
import type { Problem } from '../../src/health/problem.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import { prepareQueueTables } from '../../src/queue/postgres-backend.ts';
import { queueKeys } from '../../src/store/queue-locks.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { post, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const { database, start } = useService({ per: 'test' });

const finalization = `hashtext('bullmq:finalization'), hashtext('deliveries')`;

/** A session of a role that may only read masked views. */
async function asReader() {
  const role = `reader_${new URL(database.url).pathname.slice(6)}`;
  await database.rows(`create role ${role} login password 'reader' in role reporting_masked`);
  const url = Object.assign(new URL(database.url), { username: role, password: 'reader' }).href;
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {}); // it is ended by the advice
  await client.connect();
  return {
    client,
    role,
    close: async () => {
      await client.end().catch(() => {});
      await database.rows(`drop role ${role}`);
    },
  };
}

/** Runs the statement that a problem advises. */
const follow = ({ detail }: Problem) =>
  database.rows(/To end it: (select pg_terminate_backend\(\d+\))/.exec(detail)![1]!);

// Every job takes a number, which no rollback gives back.
const countJobs = async () => {
  const [row] = await database.rows(
    'select (last_value - (not is_called)::int)::int as n from bullmq.job_seq',
  );
  return row!.n as number;
};

const isApplied = async (receipt_id: number) =>
  (await database.rows('select from receipts where receipt_id = $1', [receipt_id])).length === 1;

it.each([
  ['before the first job', 0],
  ['between jobs', 1],
])(
  'while a session of any role holds a lock for which BullMQ waits, deliveries are applied without jobs, and the session is named: %s',
  async (_, before) => {
    const lines: string[] = [];
    const log = createLog('info', { write: (line: string) => void lines.push(line) });
    const reader = await asReader();
    try {
      const hold = () => reader.client.query(`select pg_advisory_lock(${finalization})`);
      if (before === 0) await hold();
      const { url } = await start({ log });
      const send = async (receipt_id: number) => {
        const { status } = await post(url + paths.receipt, receiptCallback({ data: { receipt_id } }));
        expect(status).toBe(200);
      };
      for (let id = 1; id <= before; id += 1) {
        await send(id);
        await until(() => isApplied(id));
      }
      if (before > 0) await hold();
      for (let id = 100; id < 130; id += 1) await send(id);
      await until(() => isApplied(129));
      const counts = 'select (select count(*)::int from receipts) as n';
      await until(async () => (await database.rows(counts))[0]!.n === 30 + before);

      const problems = await readProblems(database.pool);
      expect(problems).toEqual([
        expect.objectContaining({
          kind: 'queue',
          status: 'warn',
          title: expect.stringContaining('a lock of the queue'),
        }),
      ]);
      expect(problems[0]!.detail).toContain(`role ${reader.role}`);
      expect(lines.join()).toContain(`A session holds a lock of the queue: session ${problems[0]!.subject}`);

      const jobs = await countJobs();
      await follow(problems[0]!);
      await until(() => lines.some((line) => line.includes('deliveries get jobs again')));
      expect(await readProblems(database.pool)).toEqual([]);
      await send(200);
      await until(() => isApplied(200));
      await until(async () => (await countJobs()) > jobs);
    } finally {
      await reader.close();
    }
  },
);

it("while a session locks the queue's table, deliveries are applied without jobs", async () => {
  const holder = await database.pool.connect();
  try {
    const { url } = await start();
    await holder.query('begin; lock table bullmq.job');
    const { status } = await post(url + paths.receipt, receiptCallback({ data: { receipt_id: 1 } }));
    expect(status).toBe(200);
    await until(() => isApplied(1));
  } finally {
    holder.release(true);
  }
});

it('while the functions of the queue fail, deliveries are applied without jobs, and with jobs afterwards', async () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(line) });
  await database.rows(
    `create function refuse() returns trigger language plpgsql as 'begin raise ''no''; end'`,
  );
  await database.rows(
    'create trigger refuse before update on bullmq.job for each row execute function refuse()',
  );
  const { url } = await start({ log });
  const send = async (receipt_id: number) => {
    const { status } = await post(url + paths.receipt, receiptCallback({ data: { receipt_id } }));
    expect(status).toBe(200);
    await until(() => isApplied(receipt_id));
  };
  await send(1);
  expect(lines.join()).toContain('deliveries are applied without jobs');
  await database.rows('drop trigger refuse on bullmq.job');
  await until(() => lines.some((line) => line.includes('deliveries get jobs again')));
  await send(2);
  await until(async () => (await database.rows('select from bullmq.job')).length === 0);
});

it("the queue's tables are prepared once nobody holds their lock, and the session that holds it is named", async () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(line) });
  await database.rows('drop schema bullmq cascade');
  const reader = await asReader();
  try {
    const { rows } = await reader.client.query(
      `select pg_backend_pid() as pid, pg_advisory_lock(${0x42554c4c}, hashtext('bullmq'))`,
    );
    const preparing = prepareQueueTables(database.owner.url, log);
    const advice = `select pg_terminate_backend(${rows[0].pid})`;
    await until(() => lines.some((line) => line.includes(advice)));
    await database.rows(advice);
    await preparing;
    expect(await database.rows('select from bullmq.job')).toEqual([]);
  } finally {
    await reader.close();
  }
});

it('these are the advisory locks for which BullMQ waits: its others are of flows, deduplication and relays, which the queue does not use', () => {
  const folder = join(dirname(createRequire(__filename).resolve('bullmq')), '../esm/postgres');
  const file = readdirSync(folder).find((name) => name === 'sql-scripts.js')!;
  const text = readFileSync(join(folder, file), 'utf8').replaceAll('\\n', ' ');
  const calls = text.matchAll(/[^_]pg_advisory_(?:xact_)?lock(?:_shared)?\(\s*([^;]{0,40})/g);
  const keys = Array.from(calls, ([, key]) => /bullmq:(\w+)/.exec(key!)?.[1] ?? key!.trim());
  const ofOthers = ['parent', 'dedup', 'v_lock_key)', /^hashtext\(p_ns\), hashtext\(p_(pattern|topic)\)/];
  const isOther = (key: string) =>
    ofOthers.some((other) => (typeof other === 'string' ? other === key : other.test(key)));
  expect(new Set(keys.filter((key) => !isOther(key)))).toEqual(new Set(queueKeys));
});
