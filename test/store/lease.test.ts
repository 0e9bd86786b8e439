import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { createLeases, type Lease, LeaseLost } from '../../src/store/lease.ts';
import type { Db } from '../../src/store/tables.ts';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase({ per: 'test' });

const leaseMs = 1_500;
const create = (ms = leaseMs) => createLeases(database.db, { leaseMs: ms });

/** The lease of a process that was frozen and wakes up: others may take over, and it does not know. */
async function freeze(name: string, work: (lease: Lease, tookOver: () => Promise<void>) => Promise<unknown>) {
  return create().run(name, (lease) =>
    work(lease, async () => {
      await database.rows(`update leases set until = now() - interval '1 second' where name = $1`, [name]);
      expect(await create().run(name, async () => 'other')).toBe('other');
    }),
  );
}

const writeNote = (tx: Db) => sql`insert into uptime (from_at, until_at) values (now(), now())`.execute(tx);
const countNotes = async () => (await database.rows('select from uptime')).length;

it('runs the work of one process at a time, and the next one after its end', async () => {
  const [one, two] = [create(), create()];
  const result = await one.run('work', async () => {
    expect(await two.run('work', async () => 'two')).toBeUndefined();
    expect(await one.run('work', async () => 'one again')).toBeUndefined();
    expect(await two.run('other work', async () => 'two')).toBe('two');
    return 'one';
  });
  expect(result).toBe('one');
  expect(await two.run('work', async () => 'two')).toBe('two');
});

it('of many processes that begin at the same moment one works', async () => {
  let working = 0;
  const results = await Promise.all(
    Array.from({ length: 8 }, () =>
      create().run('work', async () => {
        working += 1;
        expect(working).toBe(1);
        await sleep(20);
        working -= 1;
        return true;
      }),
    ),
  );
  expect(results).toContain(true);
});

it('gives the lease back after an error', async () => {
  await expect(create().run('work', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await create().run('work', async () => 'next')).toBe('next');
});

it('is taken over from a process that shows no more sign of life', async () => {
  await database.rows(`insert into leases values ('work', gen_random_uuid(), now() + interval '1 second')`);
  const leases = create();
  await until(() => leases.run('work', async () => true));
});

it('a time from before the clock was set back counts as over', async () => {
  await database.rows(`insert into leases values ('work', gen_random_uuid(), now() + interval '1 hour')`);
  expect(await create().run('work', async () => true)).toBe(true);
});

it.each(['read committed', 'repeatable read'] as const)(
  'what a process has begun is not committed after another took over: %s',
  async (isolation) => {
    const work = freeze('work', (lease, takeOver) =>
      database.db
        .transaction()
        .setIsolationLevel(isolation)
        .execute(async (tx) => {
          await writeNote(tx);
          await takeOver();
          await lease.fence(tx);
        }),
    );
    const raised = isolation === 'read committed' ? LeaseLost : { code: '40001' };
    await expect(work).rejects.toMatchObject(isolation === 'read committed' ? { name: 'LeaseLost' } : raised);
    expect(await countNotes()).toBe(0);
  },
);

it.each(['read committed', 'repeatable read'] as const)(
  'what it has begun is committed although the lease was renewed meanwhile: %s',
  async (isolation) => {
    // Is renewed after a third of it; a busy machine must not lose it meanwhile.
    await create(9_000).run('work', (lease) =>
      database.db
        .transaction()
        .setIsolationLevel(isolation)
        .execute(async (tx) => {
          await writeNote(tx);
          const readUntil = async () =>
            (await database.rows(`select until::text from leases where name = 'work'`))[0]!.until;
          const before = await readUntil();
          await until(async () => (await readUntil()) !== before);
          await lease.fence(tx);
        }),
    );
    expect(await countNotes()).toBe(1);
  },
);

it('is not taken over while a transaction of its holder is being committed', async () => {
  await freeze('work', (lease) =>
    database.db.transaction().execute(async (tx) => {
      await writeNote(tx);
      await lease.fence(tx);
      await database.rows(`update leases set until = now() - interval '1 second' where name = 'work'`);
      expect(await create().run('work', async () => true)).toBeUndefined();
    }),
  );
  expect(await countNotes()).toBe(1);
});

it('tells its holder that another took over', async () => {
  await freeze('work', async ({ signal }, takeOver) => {
    await takeOver();
    await until(() => signal.aborted);
    expect(signal.reason).toBeInstanceOf(LeaseLost);
  });
});

it('tells its holder that it could not be renewed in time', async () => {
  await create().run('work', async ({ signal }) => {
    await database.rows('alter table leases rename to moved');
    await until(() => signal.aborted);
    expect(signal.reason).toBeInstanceOf(LeaseLost);
  });
});

it('the token grows, also after a restore', async () => {
  const readToken = async () =>
    Number((await database.rows(`select token from lease_tokens where name = 'work'`))[0]!.token);
  await create().run('work', async () => {});
  const first = await readToken();
  await create().run('work', async () => {});
  const second = await readToken();
  expect(second).toBeGreaterThan(first);
  await database.rows(`update lease_tokens set token = $1 where name = 'work'`, [first]);
  await create().run('work', async () => {});
  expect(await readToken()).toBeGreaterThan(second);
});

it('frequent work writes once in a while, and gives the lease back at the end', async () => {
  const leases = create();
  const run = () => leases.run('work', async () => true, { keep: true });
  const readPlace = async () =>
    (await database.rows(`select xmin::text, ctid::text from leases where name = 'work'`))[0];
  await run();
  const place = await readPlace();
  for (let index = 0; index < 20; index += 1) expect(await run()).toBe(true);
  expect(await readPlace()).toEqual(place);
  const other = create();
  expect(await other.run('work', async () => true)).toBeUndefined();
  await until(async () => (await run()) && (await readPlace())!.ctid !== place!.ctid);
  await leases.close();
  expect(await other.run('work', async () => true)).toBe(true);
});

it('a kept lease that another took is not used', async () => {
  const leases = create();
  await leases.run('work', async () => true, { keep: true });
  const [other] = await database.rows(
    `update leases set holder = gen_random_uuid() where name = 'work' returning holder`,
  );
  await until(async () => {
    await database.rows(`update leases set until = now() + interval '1 second' where holder = $1`, [
      other!.holder,
    ]);
    return (await leases.run('work', async () => true, { keep: true })) === undefined;
  });
});

it('a process that waits for its turn writes nothing', async () => {
  await create().run('work', async () => {
    const read = () =>
      database.rows(`
        select l.xmax::text, t.xmin::text, t.xmax::text from leases l join lease_tokens t using (name) where name = 'work'`);
    const before = await read();
    for (let index = 0; index < 5; index += 1) await create().run('work', async () => true);
    expect(await read()).toEqual(before);
  });
});

it('no transaction stays open while the work runs', async () => {
  await create().run('work', async () => {
    const open = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`;
    await until(async () => (await database.rows(open)).length === 0);
    expect(
      await database.rows(`select from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`),
    ).toEqual([]);
  });
});

describe('beside a worker of an older version', () => {
  const seen = `insert into workers (id, families, seen_at) values (gen_random_uuid(), '{}', now())`;
  // As versions before the table `leases` have it.
  const lockKey = (name: string) => sql`hashtext(${sql.lit(`receiver ${name}`)})`;
  async function withAdvisoryLock<T>(db: Db, name: string, run: () => Promise<T>) {
    return db.transaction().execute(async (tx) => {
      const { rows } = await sql<{ locked: boolean }>`
      select pg_try_advisory_xact_lock(${lockKey(name)}) as locked`.execute(tx);
      return rows[0]!.locked ? run() : undefined;
    });
  }

  it('one of both works at a time', async () => {
    await database.rows(seen);
    await withAdvisoryLock(database.db, 'work', async () => {
      expect(await create().run('work', async () => true)).toBeUndefined();
    });
    const leases = create();
    for (const keep of [true, false]) {
      await leases.run(
        'work',
        async () => {
          expect(await withAdvisoryLock(database.db, 'work', async () => true)).toBeUndefined();
        },
        { keep },
      );
      expect(await withAdvisoryLock(database.db, 'work', async () => true)).toBe(true);
    }
  });

  it('a command of an older version excludes us, without a worker', async () => {
    await withAdvisoryLock(database.db, 'work', async () => {
      expect(await create().run('work', async () => true)).toBeUndefined();
    });
  });

  it('a worker that has ended, or was frozen, does not count after a minute', async () => {
    await database.rows(seen.replace('now()', `now() - interval '61 seconds'`));
    await create().run('work', async () => {
      expect(await withAdvisoryLock(database.db, 'work', async () => true)).toBe(true);
    });
  });

  it.each([true, false])(
    'a role that may only read stops nothing; beside an older worker: %s',
    async (older) => {
      if (older) await database.rows(seen);
      const role = `reads_${new URL(database.url).pathname.slice(6)}`;
      await database.rows(`create role ${role} login password 'reads' in role reporting_masked`);
      const url = Object.assign(new URL(database.url), { username: role, password: 'reads' });
      const reader = new pg.Client({ connectionString: url.href });
      await reader.connect();
      try {
        await reader.query(`select pg_advisory_lock(hashtext('receiver work'))`);
        expect(await create().run('work', async () => true)).toBe(true);
        await expect(reader.query('update leases set until = now()')).rejects.toThrow(/permission denied/);
      } finally {
        await reader.end();
        await database.rows(`drop role ${role}`);
      }
    },
  );
});
