import { Quarantine } from '../../src/inbox/quarantine.ts';
import { Unavailable } from '../../src/inbox/unavailable.ts';
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
const misfit = (body: string | Buffer) => ({
  path: 'receipt',
  reason: 'invalid',
  errors: [{ path: '/x', message: 'is required' }],
  body: Buffer.from(body),
});

function open(limits = { rows: 1_000, bytes: 1e6 }, lines: string[] = []) {
  const listening = createLog('warn', { write: (line) => lines.push(line) });
  return new Quarantine({ pool: database.pool, limits, log: listening });
}

it('a body is kept byte for byte, once per content and path, with a count', async () => {
  const bytes = Buffer.from([0, 255, 128, 10, 34, 92]);
  const quarantine = open();
  await Promise.all([1, 2, 3].map(() => quarantine.keep(misfit(bytes))));
  await quarantine.keep(misfit(bytes));
  await quarantine.keep({ ...misfit(bytes), path: 'consent_form' });
  const rows = await database.rows(
    'select path, body, count, reason, errors from quarantine order by path desc',
  );
  expect(rows).toEqual([
    { path: 'receipt', body: bytes, count: 4, reason: 'invalid', errors: misfit('').errors },
    { path: 'consent_form', body: bytes, count: 1, reason: 'invalid', errors: misfit('').errors },
  ]);
});

it.each([
  ['rows', { rows: 5, bytes: 1e6 }],
  ['bytes', { rows: 1_000, bytes: 25 }],
])('the oldest are dropped when there are too many %s, and a log line says so', async (_, limits) => {
  const lines: string[] = [];
  await database.pool.query(`insert into quarantine (id, path, reason, body, received_at, last_received_at)
    select gen_random_uuid(), 'receipt', 'invalid', 'old..'::bytea, now() - n * interval '1 hour',
           now() - n * interval '1 hour' from generate_series(1, 20) n`);
  const quarantine = open(limits, lines);
  await quarantine.keep(misfit('new..'));
  await quarantine.drained();
  const rows = await database.rows(
    `select body, last_received_at > now() - interval '285 minutes' as young from quarantine`,
  );
  expect(rows).toHaveLength(5);
  expect(rows.every(({ young }) => young)).toBe(true);
  expect(rows.map(({ body }) => String(body))).toContain('new..');
  expect(lines.join()).toContain('the oldest bodies were dropped');
});

it('a body that cannot be kept is not refused for good: the sender has to send it again', async () => {
  const away = openDatabase('postgresql://nobody@127.0.0.1:1/none', log, { connections: 1, name: 'test' });
  const quarantine = new Quarantine({ pool: away.pool, limits: { rows: 1, bytes: 1 }, log });
  await expect(quarantine.keep(misfit('x'))).rejects.toThrow(Unavailable);
  await away.close();
});

it('goes on dropping the oldest after the clock was ahead for a moment', async () => {
  const quarantine = open({ rows: 1, bytes: 1e6 });
  const wallTime = Date.now;
  try {
    Date.now = () => wallTime() + 600_000;
    await quarantine.keep(misfit('0'));
  } finally {
    Date.now = wallTime;
  }
  let kept = 0;
  await until(async () => {
    kept += 1;
    await quarantine.keep(misfit(String(kept)));
    await quarantine.drained();
    return kept > 1 && (await database.rows('select 1 from quarantine')).length === 1;
  });
});
