import { sql } from 'kysely';
import { recordUptime } from '../../src/store/uptime.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
beforeEach(() => database.rows('truncate uptime'));

const minute = 60_000;
const at = (text: string) => sql<Date>`${`2026-06-01 ${text}Z`}::timestamptz`;
const minutes = (from: number, until: number) => ({ fromMs: from * minute, untilMs: until * minute });
const rows = async () => {
  const found = await database.rows('select from_at, until_at from uptime order by from_at');
  return found.map((row) =>
    [row.from_at as Date, row.until_at as Date].map((time) => time.toISOString().slice(11, 16)).join(' to '),
  );
};

it('a time that two others touch becomes one row with them', async () => {
  await recordUptime(database.db, minutes(5, 0), at('10:00'));
  await recordUptime(database.db, minutes(5, 0), at('11:00'));
  expect(await rows()).toEqual(['09:55 to 10:00', '10:55 to 11:00']);
  await recordUptime(database.db, minutes(60, 7), at('11:00'));
  expect(await rows()).toEqual(['09:55 to 11:00']);
});

it('after the clock was set back, what lies in its future hides no outage', async () => {
  await recordUptime(database.db, minutes(60, 0), at('14:00'));
  await recordUptime(database.db, minutes(60, 0), at('18:00'));
  await recordUptime(database.db, minutes(0, 0), at('13:30'));
  expect(await rows()).toEqual(['13:00 to 13:30']);
  await recordUptime(database.db, minutes(0, 0), at('13:40'));
  expect(await rows()).toEqual(['13:00 to 13:30', '13:40 to 13:40']);
});

it('times of more than 400 days ago are deleted', async () => {
  await database.rows(`insert into uptime values ('2025-01-01', '2025-04-20'), ('2025-05-01', '2025-05-02')`);
  await recordUptime(database.db, minutes(0, 0), at('10:00'));
  expect(await rows()).toHaveLength(2);
});

it('receivers that beat at the same moment leave one row, and none fails', async () => {
  const beat = () => recordUptime(database.db, minutes(1, 0));
  for (let i = 0; i < 5; i++) await Promise.all(Array.from({ length: 5 }, beat));
  await beat();
  expect(await rows()).toHaveLength(1);
});

it('before the first heartbeat ever there is no outage, and a short stop is none', async () => {
  await recordUptime(database.db, minutes(0, 0), at('10:00'));
  await recordUptime(database.db, minutes(0, 0), at('10:03'));
  await recordUptime(database.db, minutes(0, 0), at('10:07'));
  expect(await database.rows('select minutes, day::text from reporting.outages')).toEqual([
    { minutes: 4, day: '2026-06-01' },
  ]);
});
