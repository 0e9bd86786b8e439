import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createFollower } from './run-follower.ts';

const token = 'k3v9x7q2m5n8b1c4';
const { database, start } = useService({ per: 'test' });
const changes = {
  tokens: [{ token, isPublic: false }],
  allowedIps: [],
  streams: 10,
  heartbeatMs: 1_000,
  stalledMs: 10_000,
};

/** Adds an entry for each change, in an order that the table keeps, and takes its time. */
const program = `
import pg from 'pg';
import { createChangesClient } from 'webhook-receiver-client';
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const client = createChangesClient({ baseUrl: process.env.RECEIVER_URL, token: process.env.CHANGES_TOKEN });
await client.followChanges(pool, 'ledger', async ({ id, version, record }, transaction) => {
  await transaction.query('insert into ledger values ($1, $2, $3)', [id, version, record.paid_amount]);
  await transaction.query('select pg_sleep(0.03)');
});
`;

let follower: ReturnType<typeof createFollower>;
afterEach(async () => {
  await follower.killAll();
  rmSync(follower.folder, { recursive: true });
});

const changesOfAll = 300;
const receipts = 40;

it('two processes of one name, killed again and again, handle each change once and in order', async () => {
  await database.rows(`
    create table ledger (id text, version bigint, amount numeric, n bigint generated always as identity, primary key (id, version))`);
  const { url } = await start({ changes, role: 'receiver' });
  follower = createFollower(program, { DATABASE_URL: database.url, RECEIVER_URL: url, CHANGES_TOKEN: token });
  const processes = [follower.start(), follower.start()];
  const told = () =>
    database.rows(`
      select id, amount::int from (
        select distinct on (id) id, amount from ledger order by id, version desc
      ) newest order by id::bigint`);
  const handled = async () => (await database.rows('select from ledger')).length;
  let isSending = true;
  const send = async () => {
    for (let n = 1; n <= changesOfAll; n += 1) {
      const times = { event_time: 1_700_000_000 + n };
      const data = { receipt_id: 1 + (n % receipts), amount_paid: n, updated_at: 1_700_000_000_000 + n };
      await apply(database, [receiptCallback({ ...times, data })]);
      // Otherwise each record's changes may come as one.
      if (n === receipts) await until(async () => (await told()).length === receipts);
    }
    isSending = false;
  };
  let kills = 0;
  const kill = async () => {
    while (isSending || kills < 2) {
      const before = await handled();
      await sleep(700 + Math.random() * 800);
      // On a slow machine, they may not have started yet.
      await until(async () => !isSending || (await handled()) > before);
      // The one that works is the older one, mostly.
      await follower.kill(processes.shift()!);
      kills += 1;
      processes.push(follower.start());
    }
  };
  await Promise.all([send(), kill()]);
  const newest = await database.rows(
    'select receipt_id::text as id, amount_paid::int as amount from receipts order by receipt_id',
  );
  await until(async () => JSON.stringify(await told()) === JSON.stringify(newest));
  const disordered = await database.rows(`
    select id from (
      select id, version, lag(version) over (partition by id order by n) as former from ledger
    ) entries where version <= former`);
  expect(disordered).toEqual([]);
  const [{ entries }] = (await database.rows('select count(*)::int as entries from ledger')) as [
    { entries: number },
  ];
  expect(entries).toBeGreaterThan(receipts);
  await follower.killAll();
  process.stdout.write(`${kills} kills, ${entries} changes handled\n`);
});

it('another process goes on where one is frozen, and nothing is handled twice when that wakes up', async () => {
  await database.rows(`
    create table ledger (id text, version bigint, amount numeric, n bigint generated always as identity, primary key (id, version))`);
  const { url } = await start({ changes, role: 'receiver' });
  follower = createFollower(program, { DATABASE_URL: database.url, RECEIVER_URL: url, CHANGES_TOKEN: token });
  const frozen = follower.start();
  const send = async (from: number) =>
    apply(
      database,
      Array.from({ length: 20 }, (_, n) => receiptCallback({ data: { receipt_id: from + n } })),
    );
  const handled = async () => (await database.rows('select from ledger')).length;
  await send(1);
  // It has locked rows of its table: it is within a transaction.
  const isWorking = `select from pg_stat_activity where query like '%pg_sleep(0.03)%' and pid <> pg_backend_pid()
    and datname = current_database()`;
  await until(async () => (await database.rows(isWorking)).length > 0);
  frozen.kill('SIGSTOP');
  follower.start();
  await until(async () => (await handled()) === 20);
  frozen.kill('SIGCONT');
  await until(() => frozen.exitCode !== null);
  await send(101);
  await until(async () => (await handled()) === 40);
});

it('a role that may not write the table of the cursors cannot keep a process from following', async () => {
  await database.rows(`
    create table ledger (id text, version bigint, amount numeric, n bigint generated always as identity, primary key (id, version))`);
  const role = `passer_by_${new URL(database.url).pathname.slice(6)}`;
  await database.rows(`create role ${role} login password 'passes'`);
  const address = Object.assign(new URL(database.url), { username: role, password: 'passes' });
  const passerBy = new pg.Client({ connectionString: address.href });
  await passerBy.connect();
  try {
    for (const [text, seed] of [
      ['ledger', 1],
      ['followed_changes', 0],
    ] as const)
      await passerBy.query('select pg_advisory_lock(hashtextextended($1, $2))', [text, seed]);
    const { url } = await start({ changes, role: 'receiver' });
    follower = createFollower(program, {
      DATABASE_URL: database.url,
      RECEIVER_URL: url,
      CHANGES_TOKEN: token,
    });
    follower.start();
    await apply(database, [receiptCallback()]);
    await until(async () => (await database.rows('select from ledger')).length === 1);
  } finally {
    await passerBy.end();
    await database.rows(`drop role ${role}`);
  }
});
