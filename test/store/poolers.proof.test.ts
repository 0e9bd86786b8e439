import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { prepareTables } from '../../src/service/prepare-database.ts';
import { openPool } from '../../src/store/pool.ts';
import { tourConsole } from '../console/tour.ts';
import { adminToken } from '../console/visitor.ts';
import { alertsTo, startWebhook } from '../support/alert-channels.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { openRedis, type TestRedis } from '../support/redis.ts';
import { post, startTestService, untilServed } from '../support/service.ts';
import { until } from '../support/until.ts';

let redis: Pick<TestRedis, 'url' | 'stop'>;
let pooler: PgBouncer;
beforeAll(async () => {
  redis = await openRedis();
  // So few that transactions of all pools share them.
  pooler = await startPgBouncer(process.env.TEST_POSTGRES_URL!, ['default_pool_size = 5']);
});
afterAll(async () => {
  await pooler.stop();
  await redis.stop();
});

const silent = createLog('silent');

describe.each(['redis', 'postgresql'])(
  'through PgBouncer in transaction mode, with the queue on %s',
  (backend) => {
    let database: TestDatabase;
    let webhook: Awaited<ReturnType<typeof startWebhook>>;
    const options = () => ({
      databaseUrl: pooler.through(database.url),
      alerts: alertsTo(webhook.url),
      redisUrl: backend === 'redis' ? redis.url : undefined,
      adminToken,
      sweep: { everyMs: 200, olderThanMs: 0 },
    });
    beforeAll(async () => {
      [database, webhook] = await Promise.all([createEmptyDatabase(), startWebhook()]);
    });
    afterAll(() => Promise.all([database.close(), webhook.stop()]));

    it('the tables are created, callbacks are stored and applied once, all of the console works, and one process sends alerts', async () => {
      const services = [await startTestService(options()), await startTestService(options())];
      try {
        const sent = Array.from({ length: 300 }, (_, at) =>
          receiptCallback({ data: { receipt_id: at + 1, created_at: Date.now() } }),
        );
        // What a slow machine does not store in time is answered 503 and sent again, and may be counted twice.
        const all = [...sent, ...sent].map((callback, at) =>
          untilServed(() => post(services[at % 2]!.url + paths.receipt, callback)).then(
            ({ status }) => status,
          ),
        );
        expect(new Set(await Promise.all(all))).toEqual(new Set([200]));
        await until(async () => {
          const rows = await database.rows(`select status, count(*)::int, sum(delivery_count)::int as sent
          from deliveries group by status`);
          return (
            rows.length === 1 &&
            rows[0]!.status === 'applied' &&
            rows[0]!.count === 300 &&
            Number(rows[0]!.sent) >= 600
          );
        });
        expect(await database.rows('select count(*)::int from receipts')).toEqual([{ count: 300 }]);
        for (let at = 0; at < 20; at += 1) {
          const { status } = await post(services[at % 2]!.url + paths.receipt, `{"event":"${at}`);
          expect(status).toBe(400);
        }
        expect(await database.rows('select count(*)::int from quarantine')).toEqual([{ count: 20 }]);
        await until(() => webhook.messages.some((text) => /quarantine/.test(text)));
        await tourConsole(services[0]!.url, (query) => database.rows(query));
        const headers = { Authorization: `Bearer ${adminToken}` };
        const metrics = await (await fetch(`${services[0]!.url}/metrics`, { headers })).text();
        expect(metrics).toMatch(/receiver_unapplied_deliveries\{status="received"\} 0/);
        const ready = await (await fetch(`${services[0]!.url}/readyz`, { headers })).json();
        expect(ready).toMatchObject({ status: 'ready' });
      } finally {
        for (const service of services) await service.stop();
      }
      const begun = webhook.messages.filter((text) => /began:.*quarantine/s.test(text));
      expect(begun).toHaveLength(1);
      const [{ rejected } = {}] = await database.rows(
        'select sum(count)::int as rejected from rejected_requests where status = 400',
      );
      expect(rejected).toBe(20);
    });
  },
);

describe('a pool through PgBouncer in transaction mode', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.close());
  const open = (settings: Record<string, string | number>) =>
    openPool({ connectionString: pooler.through(database.url), max: 3, settings }, () => {});

  it('applies its settings in each transaction, and leaves none in the sessions of other pools', async () => {
    const pools = [
      open({ statement_timeout: 12_345, search_path: 'reporting' }),
      open({ statement_timeout: 54_321 }),
    ];
    const read = async (at: number) => {
      const text = `select current_setting('statement_timeout') as timeout, current_schema() as schema`;
      return (await pools[at]!.query(text)).rows[0];
    };
    try {
      await Promise.all(
        Array.from({ length: 40 }, async (_, at) => {
          const expected =
            at % 2 ? { timeout: '54321ms', schema: 'public' } : { timeout: '12345ms', schema: 'reporting' };
          expect(await read(at % 2)).toEqual(expected);
        }),
      );
      const client = await pools[0]!.connect();
      await client.query('begin');
      await client.query('create table in_transaction ()').catch(() => {});
      await client.query('rollback');
      client.release();
      expect(await read(0)).toEqual({ timeout: '12345ms', schema: 'reporting' });
    } finally {
      for (const pool of pools) await pool.end();
    }
  });

  it('reports the error of a statement and of its commit, and goes on', async () => {
    const pool = open({});
    try {
      await pool.query('create table checked (id int primary key deferrable initially deferred)');
      await expect(pool.query('select 1/0')).rejects.toMatchObject({ code: '22012' });
      await expect(pool.query('insert into checked values (1), (1)')).rejects.toMatchObject({
        code: '23505',
      });
      expect((await pool.query('select count(*)::int from checked')).rows).toEqual([{ count: 0 }]);
      await pool.query('insert into checked values (1)');
      expect((await pool.query('select count(*)::int from checked')).rows).toEqual([{ count: 1 }]);
    } finally {
      await pool.end();
    }
  });

  it('runs at the level of isolation that the receiver relies on, whatever the role has', async () => {
    const name = (await database.rows('select current_database() as name'))[0]!.name;
    await database.rows(`alter database ${name} set default_transaction_isolation to serializable`);
    const pool = open({});
    try {
      const { rows } = await pool.query(`select current_setting('transaction_isolation') as isolation`);
      expect(rows).toEqual([{ isolation: 'read committed' }]);
      const client = await pool.connect();
      await client.query('begin isolation level repeatable read read only');
      const own = await client.query(`select current_setting('transaction_isolation') as isolation`);
      await client.query('commit');
      client.release();
      expect(own.rows).toEqual([{ isolation: 'repeatable read' }]);
    } finally {
      await pool.end();
    }
  });
});

it.each(['no Redis', 'Redis'])(
  'with %s, a start that the pooler refuses ends with what to do',
  async (which) => {
    const database = await createEmptyDatabase();
    const url = Object.assign(new URL(pooler.through(database.url)), { username: 'stranger' }).href;
    const redisUrl = which === 'Redis' ? redis.url : undefined;
    try {
      await expect(startTestService({ databaseUrl: url, redisUrl })).rejects.toMatchObject({
        cause: { message: expect.stringMatching(/the pooler does not know the name: check its/) },
      });
    } finally {
      await database.close();
    }
  },
);

it('DIRECT_DATABASE_URL must lead to the same database', async () => {
  const [database, other] = [await createDatabase(), await createDatabase()];
  const prepare = (direct: string) => {
    const env = { DATABASE_URL: pooler.through(database.url), DIRECT_DATABASE_URL: direct };
    return prepareTables(direct, parseConfig(env, families), silent);
  };
  try {
    await prepare(database.url);
    await expect(prepare(other.url)).rejects.toMatchObject({
      problems: [expect.stringMatching(/DIRECT_DATABASE_URL and DATABASE_URL lead to different databases/)],
    });
  } finally {
    await database.close();
    await other.close();
  }
});
