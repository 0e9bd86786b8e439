import { numberChanges, openFeed, trimFeed } from '../../src/changes/open-feed.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { serveChanges } from './serve.ts';

const { database, start } = useService({ per: 'test' });
const serve = serveChanges(start);

const receipt = (receipt_id: number) => receiptCallback({ data: { receipt_id } });
it('a feed that nobody has served for a week is closed: nothing is kept or recorded, and cursors end', async () => {
  const { read, get } = await serve();
  const { next } = await read();
  await apply(database, [receipt(1)]);
  await trimFeed(database.db);
  expect((await get({ after: next })).status).toBe(200);
  await database.rows(`update change_feed set served_at = now() - interval '8 days'`);
  await trimFeed(database.db);
  const kept = await database.rows(
    'select position from changes union all select 0 from changed_records union all select 0 from change_feed',
  );
  expect(kept).toEqual([]);
  await expect(numberChanges(database.db)).rejects.toThrow();
  // A process that still serves it opens it anew.
  await until(async () => (await get({ after: next })).status === 410);
  expect((await read()).changes).toMatchObject([{ id: '1' }]);
});

it('a feed that is closed while it is numbered keeps nothing', async () => {
  await openFeed(database.db);
  await apply(database, [receipt(1)]);
  const numbering = await database.db.startTransaction().execute();
  await numberChanges(numbering);
  await database.rows(`update change_feed set served_at = now() - interval '8 days'`);
  const closed = trimFeed(database.db);
  const isDelayed = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await Promise.race([closed, until(async () => (await database.rows(isDelayed)).length > 0)]);
  await numbering.commit().execute();
  await closed;
  expect(await database.rows('select position from changes')).toEqual([]);
});

it('positions are kept for a month: a cursor that is older is told to begin anew', async () => {
  const { read, get } = await serve();
  const { next } = await read();
  await apply(database, [receipt(1)]);
  const { next: newer } = await read({ after: next });
  await database.rows(`update changes set changed_at = now() - interval '31 days'`);
  await apply(database, [receipt(2)]);
  await read({ after: newer });
  await trimFeed(database.db);
  expect((await get({ after: next })).status).toBe(410);
  expect(await read({ after: newer })).toMatchObject({ changes: [{ id: '2' }] });
});
