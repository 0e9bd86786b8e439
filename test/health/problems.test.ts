import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { createLog } from '../../src/common/log.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import { old } from '../../src/health/server.ts';
import { openDatabase } from '../../src/store/database.ts';
import { findLockHolders } from '../../src/store/lock-holders.ts';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
afterEach(() =>
  database.pool.query('truncate pending_deliveries, applied_deliveries, workers; drop role if exists other'),
);

const wait = (family: string, seconds: number) =>
  database.rows('insert into pending_deliveries values ($1, $2, now() - $3 * interval $$1 s$$)', [
    randomUUID(),
    family,
    seconds,
  ]);
const work = (families: string[]) =>
  database.rows('insert into workers values ($1, $2, now())', [randomUUID(), families]);
const found = async () => (await readProblems(database.pool)).map(({ kind, subject }) => [kind, subject]);

it('nothing is wrong while deliveries wait for less than a minute', async () => {
  await wait('receipt', 40);
  expect(await found()).toEqual([]);
});

it('a family whose deliveries wait has no worker, has one that applies nothing, or is late', async () => {
  for (const family of ['receipt', 'appointment', 'notice']) await wait(family, 112);
  await work(['appointment', 'notice']);
  await database.rows(
    `insert into applied_deliveries values ($1, 'notice', 'b', now(), now(), now() - interval '10 s')`,
    [randomUUID()],
  );
  expect(await found()).toEqual([
    ['stalled', 'appointment'],
    ['backlog', 'notice'],
    ['no worker', 'receipt'],
  ]);
  const [first] = await readProblems(database.pool);
  expect(first!.detail).toMatch(/^1 wait for more than 60 s, the oldest for 11\d s, and none was applied/);
});

it('a worker without a heartbeat for a minute does not count', async () => {
  await wait('receipt', 112);
  await work(['receipt']);
  await database.rows(`update workers set seen_at = now() - interval '2 minutes'`);
  expect(await found()).toEqual([['no worker', 'receipt']]);
});

it('what cannot be read is a problem, and hides no other', async () => {
  await wait('receipt', 112);
  await database.rows('alter table workers rename to away');
  expect(await found()).toEqual([['unreadable', 'waiting deliveries']]);
  await database.rows('alter table away rename to workers');
});

it('the session that locks a table is named also to a role that is no superuser', async () => {
  await database.rows(`create role other login password 'other'`);
  await database.rows('grant usage on schema public to other');
  const url = Object.assign(new URL(database.url), { username: 'other', password: 'other' }).href;
  const other = openDatabase(url, createLog('silent'), { connections: 1, name: 'other' });
  const owner = await database.pool.connect();
  try {
    const { rows } = await owner
      .query(`begin; lock table receipts; select 1`)
      .then(() => owner.query('select pg_backend_pid() as pid, now() as since, current_user as role'));
    const [{ pid, since, role }] = rows as [{ pid: number; since: Date; role: string }];
    const holder = { table: 'receipts', pid, application: 'test', role };
    expect(await findLockHolders(database.pool)).toEqual([{ ...holder, since }]);
    expect(await findLockHolders(other.pool)).toEqual([{ ...holder, since: null }]);
    expect(await readProblems(other.pool)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          kind: 'locked',
          detail: expect.stringMatching(
            `session ${pid} .application test, role ${role}, since when could not`,
          ),
        }),
      ]),
    );
  } finally {
    owner.release(true);
    await other.close();
    await database.rows('drop owned by other');
  }
});

describe('a session that holds a snapshot', () => {
  let holder: pg.PoolClient;
  let pid: number;
  let since: Date;
  beforeEach(async () => {
    holder = await database.pool.connect();
    await holder.query('begin isolation level repeatable read');
    const { rows } = await holder.query('select pg_backend_pid() as pid, now() as since');
    [{ pid, since }] = rows as [{ pid: number; since: Date }];
    jest.replaceProperty(old, 'seconds', 0);
  });
  afterEach(() => {
    jest.restoreAllMocks();
    holder.release(true);
  });
  const title = () => `Session ${pid} keeps PostgreSQL from removing deleted rows`;

  it('is named with its client, its state and how to end it, and without its query', async () => {
    const found = await readProblems(database.pool);
    const own = found.find(({ subject }) => subject === String(pid))!;
    expect(own).toMatchObject({ kind: 'old session', status: 'warn', title: title() });
    expect(own.detail).toMatch(
      new RegExp(
        `^session ${pid} .application test, role \\w+, address 127.0.0.1, state idle in transaction, since ${since.toISOString()}`,
      ),
    );
    expect(own.detail).toContain(`select pg_terminate_backend(${pid})`);
    expect(own.detail).not.toContain('select pg_backend_pid()');
  });
});

it('a session that forgot its transaction is found by the row that another waits for', async () => {
  await database.rows(
    `insert into aliases (kind, id, alias, updated_by) values ('business', 'b', 'one', 'x')`,
  );
  const owner = await database.pool.connect();
  try {
    await owner.query(`begin; update aliases set alias = 'two'`);
    const { rows } = await owner.query('select pg_backend_pid() as pid');
    const waiting = database.rows(`update aliases set alias = 'three'`);
    const holder = await until(async () => {
      const holders = await findLockHolders(database.pool);
      return holders[0];
    });
    expect(holder).toMatchObject({ table: 'aliases', pid: rows[0].pid, application: 'test' });
    await owner.query('rollback');
    await waiting;
  } finally {
    owner.release();
  }
});
