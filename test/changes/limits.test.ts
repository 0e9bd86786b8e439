import { numberChanges, openFeed, trimFeed } from '../../src/changes/open-feed.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { changes, serveChanges, token } from './serve.ts';

const { database, start } = useService({ per: 'test' });
const serve = serveChanges(start);

const receipt = (receipt_id: number) => receiptCallback({ data: { receipt_id } });
const stream = { Accept: 'text/event-stream' };

const _fetchStream = (url: string) =>
  fetch(`${url}/changes?fields=public&limit=1`, { headers: { ...stream, Authorization: `Bearer ${token}` } });

it('more streams than permitted are refused until one ends; pages go on', async () => {
  const { get } = await serve();
  const open = [await get({}, stream), await get({}, stream)];
  const refused = await get({}, stream);
  expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true]);
  expect((await get()).status).toBe(200);
  await open[0]!.body!.cancel();
  await until(async () => {
    const again = await get({}, stream);
    await again.body!.cancel();
    return again.status === 200;
  });
});

it('changes have their own list of addresses, and callbacks have theirs', async () => {
  const elsewhere = ['192.0.2.0/24'];
  const { get } = await serve({ changes: { ...changes, allowedIps: elsewhere } });
  expect((await get()).status).toBe(403);
  const { config } = { config: { allowedIps: ['127.0.0.1/32', '::1/128'] } };
  const { get: permitted, url } = await serve({ changes: { ...changes, ...config } });
  expect((await permitted()).status).toBe(200);
  expect((await fetch(`${url}/changes`)).status).toBe(401);
});

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
