import { definitions } from '../../src/alerts/definitions.ts';
import type { Sources } from '../../src/alerts/find.ts';
import { logAccess } from '../../src/privacy/log/access-log.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';

const dayMs = 24 * 60 * 60 * 1000;
const retention = definitions.find(({ name }) => name === 'retention')!;
const found = (ms: number | undefined) => retention.find({ sinceRetentionMs: () => ms } as Sources);

it('another database with the same identity on the same Redis is an alert that names its server', async () => {
  const copy = definitions.find(({ name }) => name === 'copy')!;
  expect(await copy.find({ rival: () => undefined } as Sources)).toEqual([]);
  const [condition] = await copy.find({ rival: () => '10.0.0.2:5432/receiver' } as Sources);
  expect(copy.explain({ name: 'copy', ...condition! })).toContain('10.0.0.2:5432/receiver');
});

it('the retention is overdue after two days without a complete pass, where RETENTION is set', async () => {
  expect(await found(undefined)).toEqual([]);
  expect(await found(dayMs)).toEqual([]);
  const [condition] = await found(3.5 * dayMs);
  expect(retention.explain({ name: 'retention', ...condition! })).toMatch(
    /^No pass was completed for 3 days\./,
  );
});

describe('what is found in the tables', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.close());

  const find = async (wanted: string) => {
    const { name, find: findIn, title, explain } = definitions.find((one) => one.name === wanted)!;
    const found = await findIn({ db: database.db } as Sources);
    return found.map((condition) => `${title({ name, ...condition })}. ${explain({ name, ...condition })}`);
  };

  it('of many silent businesses those silent for longest are named, and the others counted', async () => {
    await database.rows(`
      insert into applied_deliveries (id, family, business_id, event_time, received_at, applied_at)
      select gen_random_uuid(), 'receipt', 'business-' || n, at, at, at
      from generate_series(1, 23) n, generate_series(now() - interval '30 days', now() - interval '40 hours' - n * interval '1 hour',
        interval '1 hour') at`);
    const found = await find('silence');
    expect(found).toHaveLength(21);
    expect(found[0]).toMatch(/^Business business-23 is silent\. No receipt for \d+ hours/);
    expect(found[20]).toBe(
      'Further businesses are silent. Besides those with a message of their own: 3. /console/reports/silence names them',
    );
  });

  it('a user who searches for many people is an alert, without what was searched', async () => {
    const search = (actor: string) =>
      logAccess(database.db, {
        actor: { id: actor },
        action: 'search',
        patients: ['p'],
        filter: { by: 'phone' },
      });
    for (let times = 0; times < 41; times += 1) await search('asha');
    for (let times = 0; times < 5; times += 1) await search('ravi');
    expect(await find('searches')).toEqual([
      expect.stringMatching(/^asha searches for many people\. .*: 41 times in 10 minutes/),
    ]);
  });

  it('rejected bodies that are dropped are an alert for an hour', async () => {
    expect(await find('dropped')).toEqual([]);
    await database.rows(`insert into dropped_bodies values
      (current_date, 'invalid', 7, 1, now()), (current_date, 'not_json', 900, 1, now() - interval '61 minutes')`);
    expect(await find('dropped')).toEqual([
      expect.stringMatching(
        /^Rejected bodies are being dropped\. The quarantine is full.*: invalid: 7\. Unless .* not needed$/,
      ),
    ]);
  });
});
