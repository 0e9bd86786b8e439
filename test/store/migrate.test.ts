import { randomBytes } from 'node:crypto';
import type { PoolClient } from 'pg';
import { createLog } from '../../src/common/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { applyReportTimezone } from '../../src/store/reporting/settings.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase, useDatabase } from '../support/database.ts';
import { migrations, withSchema } from '../support/schema.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const database = useDatabase({ empty: true });

it('processes that migrate at once run each migration once', async () => {
  const results = await Promise.all(Array.from({ length: 4 }, () => migrate(database.db)));
  const names = results.flat();
  expect(names.length).toBeGreaterThan(0);
  expect(new Set(names).size).toBe(names.length);
  expect(await migrate(database.db)).toEqual([]);
});

it('a failed migration changes nothing and is named in the error; the migrations before it stay', async () => {
  const other = await createEmptyDatabase();
  const files = {
    'migrations/9001_first.sql': 'create table first ();',
    'migrations/9002_second.sql': 'create table second (); create table third ();',
  };
  try {
    await other.pool.query('create table third ()');
    await withSchema(files, async (folder) => {
      await expect(migrate(other.db, undefined, folder)).rejects.toThrow(/9002_second/);
      expect(await other.rows('select name from receiver_migrations order by name')).toEqual(
        [...migrations, '9001_first'].map((name) => ({ name })),
      );
      expect(await other.rows(`select to_regclass('second') as second`)).toEqual([{ second: null }]);
      await other.pool.query('drop table third');
      expect(await migrate(other.db, undefined, folder)).toEqual(['9002_second', 'reporting']);
    });
  } finally {
    await other.close();
  }
});

const waitingChanges = `
  select xact_start::text as begun from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query not like '%insert into inbox%'`;

/** Starts a change of the schema, which waits for an open reader, and sends callbacks meanwhile. */
async function whileAReaderIsOpen(
  other: TestDatabase,
  change: (log: { warn: (fields: object, message: string) => void }) => Promise<unknown>,
  leastAttempts = 1,
  reading = 'begin; select count(*) from reporting.deliveries',
) {
  const service = await startTestService({ databaseUrl: other.url, role: 'receiver' });
  const said: { sessions: { pid: number }[] }[] = [];
  const reader: PoolClient = await other.pool.connect();
  const statuses = new Set<number>();
  let done = false;
  try {
    await reader.query(reading);
    const changing = change({ warn: (fields) => void said.push(fields as never) }).finally(() => {
      done = true;
    });
    // Each attempt of a step is a transaction of its own; a statement outside of one is attempted once.
    const attempts = new Set<string>();
    await until(async () => {
      statuses.add((await post(`${service.url}${paths.receipt}`, receiptCallback())).status);
      for (const { begun } of await other.rows(waitingChanges)) attempts.add(begun as string);
      return done || (attempts.size >= leastAttempts && said.length > 0);
    });
    const waited = !done;
    const { rows } = await reader.query('select pg_backend_pid() as pid');
    await reader.query('commit');
    const result = await changing;
    return { statuses: [...statuses], waited, said, pid: rows[0].pid as number, result };
  } finally {
    reader.release(true);
    await service.stop();
  }
}

describe('callbacks are accepted', () => {
  const other = useDatabase({ per: 'test' });

  it('while a migration waits for a reader, which is named in the log', async () => {
    await withSchema(
      { 'migrations/9001_drop.sql': 'drop index applied_deliveries_times;' },
      async (folder) => {
        const { statuses, waited, said, pid, result } = await whileAReaderIsOpen(
          other,
          (log) => migrate(other.db, log as never, folder),
          2,
        );
        expect(statuses).toEqual([200]);
        expect(waited).toBe(true);
        expect(said[0]!.sessions).toMatchObject([{ pid, state: 'idle in transaction' }]);
        expect(result).toEqual(['9001_drop', 'reporting']);
        expect(await other.rows(`select to_regclass('applied_deliveries_times') as there`)).toEqual([
          { there: null },
        ]);
      },
    );
  });

  it('while changed views wait for a report, which is named in the log', async () => {
    await withSchema({ 'reporting/9_more.sql': 'create view reporting.more as select;' }, async (folder) => {
      const { statuses, waited, said, pid, result } = await whileAReaderIsOpen(other, (log) =>
        migrate(other.db, log as never, folder),
      );
      expect(statuses).toEqual([200]);
      expect(waited).toBe(true);
      expect(said[0]!.sessions).toMatchObject([{ pid, state: 'idle in transaction' }]);
      expect(result).toEqual(['reporting']);
    });
  });

  it('while a migration without a transaction waits for a reader', async () => {
    const text = `-- no transaction
-- The old one, if it is there; a comment between them.
drop index concurrently if exists applied_deliveries_times;
drop index concurrently if exists inbox_new;
create index concurrently inbox_new on inbox (event_time)
  where event <> 'a;b';
`;
    await withSchema({ 'migrations/9002_index.sql': text }, async (folder) => {
      const { statuses, waited, result } = await whileAReaderIsOpen(other, (log) =>
        migrate(other.db, log as never, folder),
      );
      expect(statuses).toEqual([200]);
      expect(waited).toBe(true);
      expect(result).toEqual(['9002_index', 'reporting']);
      expect(
        await other.rows(`select indisvalid from pg_index where indexrelid = 'inbox_new'::regclass`),
      ).toEqual([{ indisvalid: true }]);
      expect(await migrate(other.db, undefined, folder)).toEqual([]);
    });
  });

  it('while an index waits for the old snapshot of a reader of something else, which is named in the log', async () => {
    const text = '-- no transaction\ncreate index concurrently inbox_new on inbox (event_time);\n';
    await withSchema({ 'migrations/9003_index.sql': text }, async (folder) => {
      const { statuses, waited, said, pid, result } = await whileAReaderIsOpen(
        other,
        (log) => migrate(other.db, log as never, folder),
        1,
        'begin isolation level repeatable read; select from aliases',
      );
      expect(statuses).toEqual([200]);
      expect(waited).toBe(true);
      expect(said[0]!.sessions).toMatchObject([{ pid, state: 'idle in transaction' }]);
      expect(result).toEqual(['9003_index', 'reporting']);
    });
  });

  it('while the indexes on days of another time zone wait for a reader', async () => {
    const { statuses, waited, result } = await whileAReaderIsOpen(other, (log) =>
      applyReportTimezone(other.db, 'UTC', log as never),
    );
    expect(statuses).toEqual([200]);
    expect(waited).toBe(true);
    expect(result).toBe(true);
    expect(await other.rows('select * from stale_day_indexes')).toEqual([]);
  });
});

it('a failed migration without a transaction is run again', async () => {
  const other = await createDatabase();
  const file = (text: string) => ({ 'migrations/9003_again.sql': `-- no transaction\n${text}` });
  try {
    await withSchema(file('create table if not exists first (n int);\nselect 1 / 0;\n'), async (folder) => {
      await expect(migrate(other.db, undefined, folder)).rejects.toThrow(/9003_again/);
    });
    await withSchema(file('create table if not exists first (n int);\nselect 1;\n'), async (folder) => {
      expect(await migrate(other.db, undefined, folder)).toEqual(['9003_again', 'reporting']);
    });
  } finally {
    await other.close();
  }
});

it('a process waits for another that changes the schema, and logs that', async () => {
  const other = await createDatabase();
  const said: string[] = [];
  const first = await other.pool.connect();
  try {
    await other.pool.query(`delete from receiver_migrations where name = 'reporting'`);
    await first.query(`begin; select pg_advisory_xact_lock(hashtext('receiver schema'))`);
    const migrating = migrate(other.db, {
      warn: ((_: object, message: string) => said.push(message)) as never,
    });
    await until(() => said.length > 0);
    await first.query('commit');
    expect(await migrating).toEqual(['reporting']);
    expect(said).toEqual(['waiting for another process that changes the schema']);
  } finally {
    first.release(true);
    await other.close();
  }
});

it('a process that may not take the lock ends with the error, and keeps no connection', async () => {
  const other = await createEmptyDatabase();
  const role = `ordinary_${randomBytes(4).toString('hex')}`;
  await other.pool.query(
    `create role ${role} login password 'x'; grant create on schema public to ${role};
     revoke execute on function pg_try_advisory_xact_lock(bigint) from public`,
  );
  const url = Object.assign(new URL(other.url), { username: role, password: 'x' }).href;
  const database = openDatabase(url, createLog('silent'), { connections: 3, name: 'test' });
  await expect(migrate(database.db)).rejects.toMatchObject({ cause: { code: '42501' } });
  await database.close();
  await other.pool.query(`drop owned by ${role}; drop role ${role}`);
  await other.close();
});

describe('a start fails, and changes nothing, on a database', () => {
  it('that a newer version has migrated', async () => {
    const other = await createDatabase();
    try {
      await other.pool.query(`insert into receiver_migrations values ('9999_later')`);
      await expect(migrate(other.db)).rejects.toMatchObject({
        message: 'The database could not be migrated',
        cause: {
          message: 'a newer version of the receiver has run 9999_later; start that version or a later one',
        },
      });
    } finally {
      await other.close();
    }
  });

  it('that a version before 1.0.0 created, with a message that says what to do', async () => {
    const other = await createEmptyDatabase();
    try {
      await other.pool.query('create table deliveries (id uuid)');
      await expect(migrate(other.db)).rejects.toMatchObject({
        cause: { message: expect.stringMatching(/before 1\.0\.0, .* set DATABASE_URL to an empty database/) },
      });
      expect(
        await other.rows(`select relname from pg_class where relnamespace = 'public'::regnamespace`),
      ).toEqual([{ relname: 'deliveries' }]);
    } finally {
      await other.close();
    }
  });
});

it('the lists that other migrators keep in the same schema are left alone', async () => {
  const other = await createEmptyDatabase();
  const lists = ['schema_migrations', 'kysely_migration'];
  try {
    for (const list of lists) await other.pool.query(`create table ${list} (version text)`);
    expect(await migrate(other.db)).toEqual([...migrations, 'reporting']);
    expect(await migrate(other.db)).toEqual([]);
    for (const list of lists) expect(await other.rows(`select * from ${list}`)).toEqual([]);
  } finally {
    await other.close();
  }
});
