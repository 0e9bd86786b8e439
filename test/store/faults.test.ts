import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { installed } from '../../src/store/embedded/cluster.ts';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { isOutage, isRefusal, isUnavailable } from '../../src/store/faults.ts';
import { withClient } from '../../src/store/pool.ts';
import { createEmptyDatabase, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
beforeAll(async () => {
  await database.pool.query(`
    create table things (small smallint, word text check (word <> 'bad'), json jsonb, id int primary key);
    create index on things (word);
    create function reject_insert() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
    create table rejecting (n int);
    create trigger reject_insert before insert on rejecting for each row execute function reject_insert()`);
});

type Query = string | pg.QueryConfig;

/** The error of the last of some queries in one session. */
function errorOf(queries: Query[], url = database.url): Promise<unknown> {
  return withClient(url, async (client) => {
    for (const query of queries.slice(0, -1)) await client.query(query as string).catch(() => {});
    return client.query(queries.at(-1) as string).then(
      () => 'no error',
      (error: unknown) => error,
    );
  });
}

/** The error of the last query while another session has run others in an open transaction. */
async function errorBeside(others: string[], queries: Query[]): Promise<unknown> {
  const session = await database.pool.connect();
  try {
    await session.query('begin');
    for (const other of others) await session.query(other);
    return await errorOf(queries);
  } finally {
    await session.query('rollback');
    session.release();
  }
}

const withJson = (json: string, id = 1): pg.QueryConfig => ({
  text: 'insert into things (json, id) values ($1::jsonb, $2)',
  values: [json, id],
});

describe('certainly an outage is:', () => {
  it.each<[code: string, name: string, queries: Query[]]>([
    ['25006', 'a read-only transaction', ['begin read only', 'delete from things']],
    ['25006', 'a read-only role', ['set default_transaction_read_only = on', 'delete from things']],
    ['25P02', 'a failed transaction', ['begin', 'select 1/0', 'select 1']],
    ['57014', 'a statement timeout', ['set statement_timeout = 20', 'select pg_sleep(60)']],
    ['26000', 'a missing prepared statement', ['execute nothing']],
    [
      '55006',
      'an object in use',
      ['begin', 'declare c cursor for select * from things', 'fetch c', 'drop table things'],
    ],
  ])('%s, %s', async (code, _name, queries) => {
    const error = await errorOf(queries);
    expect(error).toMatchObject({ code });
    expect(isOutage(error)).toBe(true);
  });

  it('55P03, a locked table', async () => {
    const error = await errorBeside(
      ['lock table things'],
      ['set lock_timeout = 20', 'insert into things (id) values (1)'],
    );
    expect(error).toMatchObject({ code: '55P03' });
    expect(isOutage(error)).toBe(true);
  });

  it('40001, a conflict of serializable transactions', async () => {
    await database.pool.query('create table counted as select 1 as n');
    const session = await database.pool.connect();
    try {
      await session.query('begin isolation level repeatable read');
      await session.query('select * from counted');
      await database.pool.query('update counted set n = 2');
      const error = await session.query('update counted set n = 3').catch((e: unknown) => e);
      expect(error).toMatchObject({ code: '40001' });
      expect(isOutage(error)).toBe(true);
    } finally {
      await session.query('rollback');
      session.release();
    }
  });

  it('57P01, a terminated session', async () => {
    const client = new pg.Client({ connectionString: database.url });
    client.on('error', () => {});
    await client.connect();
    const query = client.query('select pg_sleep(60)').catch((error: unknown) => error);
    await until(async () => {
      const ended = await database.rows(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and query like 'select pg_sleep%' and state = 'active'`,
      );
      return ended.length > 0;
    });
    const error = await query;
    expect(error).toMatchObject({ code: '57P01' });
    expect(isOutage(error)).toBe(true);
    const after = await client.query('select 1').catch((e: unknown) => e);
    expect(isOutage(after)).toBe(true);
  });

  it.each<[code: string, name: string, change: Partial<URL>]>([
    ['3D000', 'a missing database', { pathname: '/nowhere' }],
    ['28P01', 'a wrong password', { password: 'wrong' }],
  ])('%s, %s', async (code, _name, change) => {
    const url = Object.assign(new URL(database.url), change);
    const error = await errorOf(['select 1'], url.href).catch((e: unknown) => e);
    expect(error).toMatchObject({ code });
    expect(isOutage(error)).toBe(true);
  });

  it('a server that refuses connections', async () => {
    const url = `postgresql://nobody@127.0.0.1:${await freePort()}/none`;
    const error = await errorOf(['select 1'], url).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    expect(isOutage(error)).toBe(true);
    expect(isOutage(new Error('It could not be stored', { cause: error }))).toBe(true);
  });

  it('a server that never responds, and one that closes the connection', async () => {
    const sockets: Socket[] = [];
    let closes = false;
    const server = createServer((socket) => {
      sockets.push(socket);
      if (closes) socket.once('data', () => socket.destroy());
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const connectionString = `postgresql://nobody@127.0.0.1:${port}/none`;
    const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 50, max: 1 });
    try {
      const silent = await pool.query('select 1').catch((e: unknown) => e);
      expect(silent).toMatchObject({ message: expect.stringMatching(/timeout/) });
      expect(isOutage(silent)).toBe(true);
      closes = true;
      const closed = await pool.query('select 1').catch((e: unknown) => e);
      expect(isOutage(closed)).toBe(true);
    } finally {
      await pool.end();
      expect(isOutage(await pool.query('select 1').catch((e: unknown) => e))).toBe(true);
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  });

  it('a query timeout of the driver', async () => {
    const error = await errorOf([{ text: 'select pg_sleep(1)', query_timeout: 20 }]);
    expect(error).toMatchObject({ message: 'Query read timeout' });
    expect(isOutage(error)).toBe(true);
  });
});

it.each<[unavailable: boolean, name: string, error: object]>([
  [true, 'a server that refuses connections', { code: 'ECONNREFUSED' }],
  [true, 'a name server that is unavailable', { code: 'EAI_AGAIN' }],
  [true, 'a query timeout of the driver', { message: 'Query read timeout' }],
  [false, 'an unknown host name', { code: 'ENOTFOUND' }],
  [false, 'an untrusted certificate', { code: 'SELF_SIGNED_CERT_IN_CHAIN' }],
  [false, 'a wrong password', Object.assign(new pg.DatabaseError('', 0, 'error'), { code: '28P01' })],
])(
  'an outage that may end by itself is distinguished from others: %s for %s',
  (unavailable, _name, error) => {
    expect([isUnavailable(error), isOutage(error)]).toEqual([unavailable, true]);
  },
);

describe('an error that only a probe can attribute to the store or to one delivery is no certain outage:', () => {
  it.each<[code: string, name: string, queries: Query[]]>([
    ['42P01', 'a missing table', ['insert into nowhere values (1)']],
    ['42703', 'a missing column', ['insert into things (nothing) values (1)']],
    ['42501', 'a missing permission', ['set role pg_monitor', 'insert into things (id) values (1)']],
    ['3F000', 'a missing schema', ['create table nowhere.at_all (n int)']],
    ['P0001', 'a trigger that rejects it', ['insert into rejecting values (1)']],
    ['23514', 'a check constraint', [`insert into things (word, id) values ('bad', 1)`]],
    ['23502', 'a not-null constraint', ['insert into things (word) values (null)']],
    ['22003', 'a number out of range', ['insert into things (small, id) values (40000, 1)']],
    ['22P02', 'invalid JSON', [withJson('{')]],
    ['22P05', 'an unsupported character', [withJson('"\\u0000"'), `select '{"a":"\\u0000"}'::jsonb ->> 'a'`]],
    ['54001', 'too deep JSON', ['set max_stack_depth = 100', withJson('['.repeat(200_000))]],
    ['54000', 'a text too long for an index', [longWord()]],
    [
      '21000',
      'the same row twice in one statement',
      ['insert into things (id) values (1), (1) on conflict (id) do update set small = 1'],
    ],
  ])('%s, %s', async (code, _name, queries) => {
    const error = await errorOf(queries);
    expect(error).toMatchObject({ code });
    expect(isOutage(error)).toBe(false);
  });

  it.each(['LATIN1', 'SQL_ASCII'] as const)(
    'a character that a %s database cannot store',
    async (encoding) => {
      const other = await createEmptyDatabase(encoding);
      try {
        await other.pool.query('create table things (json jsonb, id int)');
        const errors = await Promise.all(
          [withJson('"रसीद"'), withJson('"\\u0930"')].map((query) => errorOf([query], other.url)),
        );
        const codes = errors.map((error) => (error as pg.DatabaseError).code);
        const unstorable = expect.stringMatching(/^(22P05|0A000)$/); // the latter in PostgreSQL 14
        expect(codes).toEqual([encoding === 'LATIN1' ? unstorable : undefined, unstorable]);
        expect(errors.filter(isOutage)).toEqual([]);
      } finally {
        await other.close();
      }
    },
  );

  it('a programming error', () => {
    expect(
      [new TypeError('x is undefined'), new RangeError('Invalid array length'), 'text', undefined].some(
        isOutage,
      ),
    ).toBe(false);
  });
});

describe('of all codes of PostgreSQL', () => {
  // The file that PostgreSQL's own code is generated from, as it is installed with the server.
  let codes: string[];
  beforeAll(async () => {
    const { folder } = await installed();
    const list = readFileSync(join(folder, 'share/postgresql/errcodes.txt'), 'utf8');
    codes = Array.from(list.matchAll(/^([0-9A-Z]{5})\s+[EWS]\s/gm), ([, code]) => code!);
  });
  const withCode = (code: string) => Object.assign(new pg.DatabaseError('', 0, 'error'), { code });
  const classesWhere = (matches: (error: unknown) => boolean) =>
    [...new Set(codes.filter((code) => matches(withCode(code))).map((code) => code.slice(0, 2)))].toSorted();

  it('those of the classes 22, 23 and 54 alone can be a refusal of the data', () => {
    expect(codes.length).toBeGreaterThan(240);
    expect(classesWhere(isRefusal)).toEqual(['22', '23', '54']);
  });

  it('those about the connection, the session, locks and resources alone are certainly an outage', () => {
    expect(classesWhere(isOutage)).toEqual(['08', '25', '26', '28', '3D', '40', '53', '55', '57', 'F0']);
  });

  it('each says nothing else: no code is both, and one that PostgreSQL does not have is neither', () => {
    expect(codes.filter((code) => isOutage(withCode(code)) && isRefusal(withCode(code)))).toEqual([]);
    for (const code of ['ZZ999', 'P9999', '', '60000']) {
      expect([isOutage(withCode(code)), isRefusal(withCode(code))]).toEqual([false, false]);
    }
  });
});

/** Random, because PostgreSQL compresses repeated text. */
function longWord(): pg.QueryConfig {
  return {
    text: 'insert into things (word, id) values ($1, 1)',
    values: [randomBytes(10_000).toString('hex')],
  };
}
