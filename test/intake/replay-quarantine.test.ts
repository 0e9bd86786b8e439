import { replayQuarantine } from '../../src/intake/replay-quarantine.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
beforeAll(async () => {
  await database.pool.query(
    `insert into quarantine (id, path, reason, body)
     select gen_random_uuid(), 'p', 'invalid', convert_to(n::text, 'utf8') from generate_series(1, 5) as n`,
  );
});

const replayed = () => database.rows('select 1 from quarantine where replayed_at is not null');

it('a replay ends at its limit, and a rejection leaves its row as it is', async () => {
  const intake = {
    replay: async () => ({ outcome: 'rejected', reason: 'is required', errors: [] }) as const,
  };
  const progress: number[] = [];
  const onProgress = () => void progress.push(1);
  const outcome = await replayQuarantine(database.db, {}, intake, { dryRun: false, limit: 3, onProgress });
  const reasons = [{ message: 'is required', count: 3, example: expect.any(String) }];
  expect(outcome).toEqual({ accepted: 0, duplicates: 0, notStored: 0, rejected: 3, reasons });
  expect(progress).toHaveLength(3);
  expect(await replayed()).toEqual([]);
});

it('a replay counts duplicates among the accepted, and marks both unless it is a dry run', async () => {
  const intake = {
    replay: async (body: Buffer) =>
      ({ outcome: String(body) === '1' ? 'duplicate' : 'accepted', id: '' }) as const,
  };
  const expected = { accepted: 5, duplicates: 1, notStored: 0, rejected: 0, reasons: [] };
  expect(await replayQuarantine(database.db, {}, intake, { dryRun: true })).toEqual(expected);
  expect(await replayed()).toEqual([]);
  expect(await replayQuarantine(database.db, {}, intake, { dryRun: false })).toEqual(expected);
  expect(await replayed()).toHaveLength(5);
});
