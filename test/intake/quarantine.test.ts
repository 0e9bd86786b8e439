import { tmpdir } from 'node:os';
import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { Unavailable } from '../../src/intake/delivery.ts';
import { quarantineLimit } from '../../src/intake/eviction.ts';
import { createQuarantine, type RejectedBody } from '../../src/intake/quarantine.ts';
import { dropQuarantine } from '../../src/intake/quarantine-rows.ts';
import { openDatabase } from '../../src/store/database.ts';
import { freeDisk } from '../../src/store/embedded/place.ts';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
beforeEach(() => database.pool.query('truncate quarantine, dropped_bodies'));

const log = createLog('silent');
const rejected = (body: string | Buffer): RejectedBody => ({
  path: 'receipt',
  reason: 'invalid',
  errors: [{ path: '/x', message: 'is required' }],
  body: Buffer.from(body),
});

/** Room for a number of bodies of these many bytes. */
const room = (bodies: number, length: number) => bodies * (length + 1024) * 1.03;

function open(bytes = 1e6, lines: string[] = []) {
  const capturing = createLog('warn', { write: (line) => lines.push(line) });
  return createQuarantine({
    families,
    pool: database.pool,
    limits: { bytes },
    log: capturing,
  });
}

it('a body is stored byte for byte, once per content and path, with a count', async () => {
  const bytes = Buffer.from([0, 255, 128, 10, 34, 92]);
  const quarantine = open();
  await Promise.all([1, 2, 3].map(() => quarantine.keep(rejected(bytes))));
  await quarantine.keep(rejected(bytes));
  await quarantine.keep({ ...rejected(bytes), path: 'consent_form' });
  const rows = await database.rows(
    'select path, body, count, reason, errors from quarantine order by path desc',
  );
  expect(rows).toEqual([
    { path: 'receipt', body: bytes, count: 4, reason: 'invalid', errors: rejected('').errors },
    { path: 'consent_form', body: bytes, count: 1, reason: 'invalid', errors: rejected('').errors },
  ]);
});

it('the oldest bodies are evicted beyond the limit of bytes, counted by reason, and the log says so', async () => {
  const lines: string[] = [];
  await database.pool.query(`insert into quarantine (id, path, reason, body, received_at, last_received_at)
    select gen_random_uuid(), 'receipt', 'invalid', 'old..'::bytea, now() - n * interval '1 hour',
           now() - n * interval '1 hour' from generate_series(1, 20) n`);
  const quarantine = open(room(5, 5), lines);
  await quarantine.keep(rejected('new..'));
  await quarantine.drained();
  const rows = await database.rows(
    `select body, last_received_at > now() - interval '285 minutes' as young from quarantine`,
  );
  expect(rows).toHaveLength(5);
  expect(rows.every(({ young }) => young)).toBe(true);
  expect(rows.map(({ body }) => String(body))).toContain('new..');
  expect(lines.join()).toContain('bodies dropped');
  expect(await database.rows('select reason, count::int, bytes::int from dropped_bodies')).toEqual([
    { reason: 'invalid', count: 16, bytes: 16 * 1029 },
  ]);
});

it('bodies that are dropped all the time are a line of the log a minute, and none of them is missed', async () => {
  const lines: string[] = [];
  const quarantine = open(room(2, 4), lines);
  const dropped = async () =>
    (await database.rows('select coalesce(sum(count), 0)::int as n from dropped_bodies'))[0]!.n as number;
  let stored = 0;
  await until(async () => {
    const bodies = Array.from({ length: 5 }, (_, n) => rejected(String(1_000 + stored + n)));
    stored += bodies.length;
    await Promise.all(bodies.map((body) => quarantine.keep(body)));
    return (await dropped()) > 2 * bodies.length;
  });
  expect(lines).toHaveLength(1);
  await quarantine.drained();
  const total = await dropped();
  expect(await database.rows('select from quarantine')).toHaveLength(stored - total);
  expect(lines.map((line) => JSON.parse(line).dropped).reduce((sum, one) => sum + one)).toBe(total);
});

it('replayed bodies that are evicted are not counted as dropped', async () => {
  await database.pool.query(`insert into quarantine (id, path, reason, body, replayed_at)
    select gen_random_uuid(), 'receipt', 'invalid', 'old..', now() from generate_series(1, 9)`);
  const quarantine = open(room(5, 5));
  await quarantine.keep(rejected('new..'));
  await quarantine.drained();
  expect(await database.rows('select from quarantine')).toHaveLength(5);
  expect(await database.rows('select from dropped_bodies')).toEqual([]);
});

it('two receivers that find the quarantine full at once do not drop twice as much', async () => {
  await database.pool.query(`insert into quarantine (id, path, reason, body, last_received_at)
    select gen_random_uuid(), 'receipt', 'invalid', 'old..', now() - n * interval '1 hour' from generate_series(1, 40) n`);
  const receivers = [open(room(30, 5)), open(room(30, 5)), open(room(30, 5))];
  await Promise.all(receivers.map((receiver) => receiver.keep(rejected('new..'))));
  await Promise.all(receivers.map((receiver) => receiver.drained()));
  expect(await database.rows('select from quarantine')).toHaveLength(30);
});

it('the default limit keeps an hour of a wrong schema: 60 bodies of 2 kB a second', async () => {
  const bodies = Array.from({ length: 300 }, (_, n) => rejected(`${n}`.padEnd(2_000, '-')));
  const { bytes } = parseConfig({ DATABASE_URL: 'postgresql://db/x' }, families).quarantine;
  const quarantine = open((bytes * bodies.length) / (60 * 3_600));
  await Promise.all(bodies.map((body) => quarantine.keep(body)));
  await quarantine.drained();
  expect(await database.rows('select from quarantine')).toHaveLength(bodies.length);
});

it('rejected bodies take a tenth of the free disk at most, where it is that of the embedded database', async () => {
  const dataDir = tmpdir();
  const { bytes: free } = await freeDisk(dataDir);
  const limit = await quarantineLimit({ bytes: 2 ** 50, dataDir });
  expect(limit / free).toBeGreaterThan(0.09);
  expect(limit / free).toBeLessThan(0.11);
  expect(await quarantineLimit({ bytes: 1_000, dataDir })).toBe(1_000);
  expect(await quarantineLimit({ bytes: 2 ** 50 })).toBe(2 ** 50);
  expect(parseConfig({ DATA_DIR: '/data' }, families).quarantine).toEqual({
    bytes: 1_000_000_000,
    dataDir: '/data',
  });
});

it('an eviction finds the oldest bodies by an index, and reads none of the others', async () => {
  await database.pool.query(`insert into quarantine (id, path, reason, body, last_received_at)
    select gen_random_uuid(), 'receipt', 'invalid', 'old..', now() - n * interval '1 second'
    from generate_series(1, 20000) n`);
  await database.pool.query('analyze quarantine');
  const plan = await database.rows(`explain select id from quarantine where not acknowledged
    order by (replayed_at is null), last_received_at, id limit 5000 for update skip locked`);
  expect(JSON.stringify(plan)).toContain('quarantine_by_worth');
  expect(JSON.stringify(plan)).not.toContain('Sort');
});

it('replayed bodies are evicted before all others, however old', async () => {
  await database.pool.query(`insert into quarantine (id, path, reason, body, last_received_at, replayed_at)
    select gen_random_uuid(), 'receipt', 'invalid', convert_to('old' || n, 'utf8'), now() - n * interval '1 hour',
           case when n <= 4 then now() end
    from generate_series(1, 8) n`);
  const stored = async () =>
    (await database.rows('select body from quarantine order by last_received_at')).map(({ body }) =>
      String(body),
    );
  for (const [body, rows] of [
    ['new1', 7],
    ['new2', 4],
  ] as const) {
    const quarantine = open(room(rows, 4));
    await quarantine.keep(rejected(body));
    await quarantine.drained();
    expect(await stored()).toEqual(
      body === 'new1'
        ? ['old8', 'old7', 'old6', 'old5', 'old2', 'old1', 'new1']
        : ['old6', 'old5', 'new1', 'new2'],
    );
  }
});

it('an acknowledged body is never evicted, does not count, and stays marked', async () => {
  const quarantine = open(room(2, 4));
  await quarantine.keep({ ...rejected('ours'), acknowledged: true });
  await Promise.all(['ours', 'a', 'b'].map((body) => quarantine.keep(rejected(body))));
  await quarantine.drained();
  const next = open(room(1, 1));
  await next.keep(rejected('c'));
  await next.drained();
  expect(
    await database.rows('select body, acknowledged, count from quarantine order by acknowledged'),
  ).toEqual([
    { body: Buffer.from('c'), acknowledged: false, count: 1 },
    { body: Buffer.from('ours'), acknowledged: true, count: 2 },
  ]);
  expect(await dropQuarantine(database.db, {})).toBe(2);
});

it('a body that cannot be stored raises Unavailable, so that the sender resends it', async () => {
  const unavailable = openDatabase('postgresql://nobody@127.0.0.1:1/none', log, {
    connections: 1,
    name: 'test',
  });
  const quarantine = createQuarantine({ families, pool: unavailable.pool, limits: { bytes: 1 }, log });
  await expect(quarantine.keep(rejected('x'))).rejects.toThrow(Unavailable);
  await unavailable.close();
});

it('eviction continues after the clock was ahead for a moment', async () => {
  const quarantine = open(room(1, 2));
  const wallTime = Date.now;
  try {
    Date.now = () => wallTime() + 600_000;
    await quarantine.keep(rejected('0'));
  } finally {
    Date.now = wallTime;
  }
  let stored = 0;
  await until(async () => {
    stored += 1;
    await quarantine.keep(rejected(String(stored)));
    await quarantine.drained();
    return stored > 1 && (await database.rows('select 1 from quarantine')).length === 1;
  });
});

it('the id of a body never changes between versions', async () => {
  await open().keep(rejected('{}'));
  expect(await database.rows('select id from quarantine')).toEqual([
    { id: 'c162d10a-249e-880c-9eb5-dc1e5adc5650' },
  ]);
});
