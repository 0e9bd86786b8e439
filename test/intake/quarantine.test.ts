import { families } from '../../src/families/index.ts';
import { Unavailable } from '../../src/intake/delivery.ts';
import { Quarantine, type RejectedBody } from '../../src/intake/quarantine.ts';
import { dropQuarantine } from '../../src/intake/quarantine-rows.ts';
import { createLog } from '../../src/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());
beforeEach(() => database.pool.query('truncate quarantine'));

const log = createLog('silent');
const rejected = (body: string | Buffer): RejectedBody => ({
  path: 'receipt',
  reason: 'invalid',
  errors: [{ path: '/x', message: 'is required' }],
  body: Buffer.from(body),
});

function open(limits = { rows: 1_000, bytes: 1e6 }, lines: string[] = []) {
  const capturing = createLog('warn', { write: (line) => lines.push(line) });
  return new Quarantine({ families, pool: database.pool, limits, log: capturing });
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

it.each([
  ['rows', { rows: 5, bytes: 1e6 }],
  ['bytes', { rows: 1_000, bytes: 25 }],
])('the oldest bodies are evicted beyond the limit of %s, and the log says so', async (_, limits) => {
  const lines: string[] = [];
  await database.pool.query(`insert into quarantine (id, path, reason, body, received_at, last_received_at)
    select gen_random_uuid(), 'receipt', 'invalid', 'old..'::bytea, now() - n * interval '1 hour',
           now() - n * interval '1 hour' from generate_series(1, 20) n`);
  const quarantine = open(limits, lines);
  await quarantine.keep(rejected('new..'));
  await quarantine.drained();
  const rows = await database.rows(
    `select body, last_received_at > now() - interval '285 minutes' as young from quarantine`,
  );
  expect(rows).toHaveLength(5);
  expect(rows.every(({ young }) => young)).toBe(true);
  expect(rows.map(({ body }) => String(body))).toContain('new..');
  expect(lines.join()).toContain('bodies dropped');
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
    const quarantine = open({ rows, bytes: 1e6 });
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
  const quarantine = open({ rows: 2, bytes: 100 });
  await quarantine.keep({ ...rejected('ours'), acknowledged: true });
  await Promise.all(['ours', 'a', 'b'].map((body) => quarantine.keep(rejected(body))));
  await quarantine.drained();
  const next = open({ rows: 1, bytes: 100 });
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
  const quarantine = new Quarantine({ families, pool: unavailable.pool, limits: { rows: 1, bytes: 1 }, log });
  await expect(quarantine.keep(rejected('x'))).rejects.toThrow(Unavailable);
  await unavailable.close();
});

it('eviction continues after the clock was ahead for a moment', async () => {
  const quarantine = open({ rows: 1, bytes: 1e6 });
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
