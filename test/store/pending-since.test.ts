import { sql } from 'kysely';
import type pg from 'pg';
import { rememberPendingSince } from '../../src/store/pending-since.ts';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

describe('the time since which deliveries are pending', () => {
  const database = useDatabase({ per: 'test' });
  const insert = (received: string) =>
    database.rows(`insert into pending_deliveries values (gen_random_uuid(), 'receipt', ${received})`);
  const counts = async (since: string) => {
    const { rows } = await sql<{ seen: number; missed: number }>`
      select count(*) filter (where received_at >= ${since}::timestamptz)::int as seen,
        count(*) filter (where received_at < ${since}::timestamptz)::int as missed
      from pending_deliveries`.execute(database.db);
    return rows[0]!;
  };

  it('is before the oldest one, and moves on when that is deleted', async () => {
    const pendingSince = rememberPendingSince(database.pool, 1e6);
    await insert(`now() - interval '2 hours'`);
    await insert(`now() - interval '1 hour'`);
    const first = await pendingSince();
    expect(await counts(first)).toEqual({ seen: 2, missed: 0 });
    await database.rows(`delete from pending_deliveries where received_at < now() - interval '90 minutes'`);
    const second = await pendingSince();
    expect(second > first).toBe(true);
    expect(await counts(second)).toEqual({ seen: 1, missed: 0 });
  });

  it('is never later than the last seconds, so that what is inserted meanwhile is seen', async () => {
    const pendingSince = rememberPendingSince(database.pool, 1e6);
    await pendingSince();
    await insert(`now() - interval '5 s'`);
    expect(await counts(await pendingSince())).toEqual({ seen: 1, missed: 0 });
  });

  it('goes back when the clock does, and for what was committed late', async () => {
    const pendingSince = rememberPendingSince(database.pool);
    await insert(`now() + interval '1 hour'`);
    await pendingSince();
    await database.rows('truncate pending_deliveries');
    await insert(`now() - interval '1 hour'`);
    await until(async () => (await counts(await pendingSince())).seen === 1);
  });

  it('is found in the zone of any session', async () => {
    await insert(`now() - interval '1 hour'`);
    const since = await rememberPendingSince(database.pool)();
    await database.rows(`set timezone = 'Asia/Kolkata'`);
    expect(since).toMatch(/Z$/);
    expect(await counts(since)).toEqual({ seen: 1, missed: 0 });
  });

  it('is asked of the database once at a time, and again after an error', async () => {
    let fails = true;
    let asked = 0;
    const pool = {
      query: async (text: string) => {
        asked += 1;
        if (fails) throw new Error('away');
        return database.pool.query(text);
      },
    } as unknown as pg.Pool;
    const pendingSince = rememberPendingSince(pool, 0);
    await expect(Promise.all([pendingSince(), pendingSince()])).rejects.toThrow('away');
    expect(asked).toBe(1);
    fails = false;
    expect(await pendingSince()).toMatch(/Z$/);
  });
});
