import { applyReportTimezone, checkTimezone } from '../../../src/store/reporting/settings.ts';
import { receiptCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, seconds } from '../../support/deliveries.ts';

const database = useDatabase();
afterEach(() => applyReportTimezone(database.db, 'Asia/Kolkata'));

const day = (moment: string) => database.rows('select reporting.day($1)::text as day', [moment]);
const hour = (moment: string) => database.rows('select reporting.hour($1) as hour', [moment]);

it('a day begins at midnight in India until another zone is set', async () => {
  expect(await day('2024-03-01T18:29:59.999Z')).toEqual([{ day: '2024-03-01' }]);
  expect(await day('2024-03-01T18:30:00Z')).toEqual([{ day: '2024-03-02' }]);
  await applyReportTimezone(database.db, 'America/New_York');
  expect(await day('2024-03-02T04:59:59Z')).toEqual([{ day: '2024-03-01' }]);
  expect(await day('2024-03-02T05:00:00Z')).toEqual([{ day: '2024-03-02' }]);
});

it('an hour begins with an hour of the zone, and an hour that is repeated when clocks are set back counts as two', async () => {
  expect(await hour('2024-03-01T12:45:00Z')).toEqual([{ hour: new Date('2024-03-01T12:30:00Z') }]);
  await applyReportTimezone(database.db, 'Europe/Berlin');
  expect(await hour('2024-10-27T00:45:00Z')).toEqual([{ hour: new Date('2024-10-27T00:00:00Z') }]);
  expect(await hour('2024-10-27T01:45:00Z')).toEqual([{ hour: new Date('2024-10-27T01:00:00Z') }]);
});

it('returns whether the zone was changed', async () => {
  expect(await applyReportTimezone(database.db, 'Asia/Kolkata')).toBe(false);
  expect(await applyReportTimezone(database.db, 'UTC')).toBe(true);
  expect(await applyReportTimezone(database.db, 'UTC')).toBe(false);
  expect(await database.rows('select reporting.timezone() as zone')).toEqual([{ zone: 'UTC' }]);
});

it('a zone that does not exist is rejected, and the previous one stays', async () => {
  await expect(applyReportTimezone(database.db, "Mars/O'Neill")).rejects.toMatchObject({ code: '22023' });
  expect(await database.rows('select reporting.timezone() as zone')).toEqual([{ zone: 'Asia/Kolkata' }]);
});

it('after a change of the zone the index finds the rows of a day, also in sessions opened before it', async () => {
  const created_at = seconds('2024-03-01T20:00:00Z');
  await apply(database, [receiptCallback({ data: { created_at } })]);
  const found = async (client: { query: (text: string) => Promise<{ rows: unknown[] }> }) =>
    (await client.query(`select day::text from reporting.receipts where day = '2024-03-01'`)).rows;
  const session = await database.pool.connect();
  try {
    await session.query('set enable_seqscan = off');
    expect(await found(session)).toEqual([]);
    await applyReportTimezone(database.db, 'UTC');
    expect(await found(session)).toEqual([{ day: '2024-03-01' }]);
    const { rows } = await session.query(
      `explain select * from reporting.receipts where business_id = 'b' and day = '2024-03-01'`,
    );
    expect(JSON.stringify(rows)).toContain('receipts_day');
  } finally {
    session.release(true);
  }
});

it('a change of the zone rebuilds every index on days', async () => {
  const indexes = () =>
    database.rows(
      `select c.relname as name, c.relfilenode as file from pg_index i join pg_class c on c.oid = i.indexrelid
       where pg_get_indexdef(i.indexrelid) like '%reporting.day%' order by 1`,
    );
  const before = await indexes();
  await applyReportTimezone(database.db, 'UTC');
  const after = await indexes();
  expect(before.length).toBeGreaterThan(15);
  expect(after.map(({ name }) => name)).toEqual(before.map(({ name }) => name));
  expect(after.filter(({ file }, index) => file === before[index]!.file)).toEqual([]);
});

it('if two processes set zones at once, one of the zones remains, with its days', async () => {
  await Promise.all(['UTC', 'Asia/Tokyo', 'UTC'].map((zone) => applyReportTimezone(database.db, zone)));
  const [row] = await database.rows(
    `select reporting.timezone() as zone,
            reporting.day('2024-03-01T20:00Z') = ('2024-03-01T20:00Z'::timestamptz at time zone reporting.timezone())::date as agrees`,
  );
  expect(row).toEqual({ zone: expect.stringMatching(/UTC|Asia\/Tokyo/), agrees: true });
});

it('an interrupted change of the zone is completed by the next one', async () => {
  const file = () => database.rows(`select relfilenode from pg_class where relname = 'receipts_day'`);
  await database.pool.query(`insert into stale_day_indexes values ('receipts_day'), ('dropped')`);
  const before = await file();
  expect(await applyReportTimezone(database.db, 'Asia/Kolkata')).toBe(false);
  expect(await file()).not.toEqual(before);
  expect(await database.rows('select * from stale_day_indexes')).toEqual([]);
});

it('a zone that PostgreSQL does not know, or interprets differently from Node, is rejected', async () => {
  for (const zone of ['Asia/Kolkata', 'UTC', 'Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe']) {
    await checkTimezone(database.db, zone);
  }
  const problemsOf = (zone: string) => checkTimezone(database.db, zone).catch((error) => error.problems);
  expect(await problemsOf('IST')).toEqual([
    expect.stringMatching(/^REPORT_TIMEZONE is IST, .* 17:30 to Node and at .* 14:00 to PostgreSQL/),
  ]);
  expect(await problemsOf('PNT')).toEqual([
    expect.stringMatching(/^REPORT_TIMEZONE is PNT, which PostgreSQL does not know/),
  ]);
});
