import { cursorOfNow } from '../../src/changes/cursor-of-now.ts';
import { addDestination, resumeDestination } from '../../src/destinations/destination-table.ts';
import { secretText } from '../../src/destinations/sign.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { createCopy } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';
import { startTestService, testConfig, useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { changes, serveChanges, token } from './serve.ts';

const { database, start } = useService({ per: 'test' });
const serve = serveChanges(start);

const receipt = (receipt_id: number) => receiptCallback({ data: { receipt_id } });

it('a copy knows no cursor of its original, and sends nothing until it is resumed: then all records, as newer versions', async () => {
  const webhooks = await startWebhookReceiver();
  await apply(database, [receipt(1)]);
  const selection = {
    url: webhooks.url,
    families: ['receipt'],
    businessId: null,
    isPublic: false,
  };
  const [behind, anew] = [
    await addDestination(database.db, selection, await cursorOfNow(database.db)),
    await addDestination(database.db, selection, null),
  ];
  webhooks.secret = secretText(behind.secret);
  const { read } = await serve();
  const { next, changes: before } = await read();
  await apply(database, [receipt(2)]);
  const copy = await createCopy(database);
  const destinations = { ...testConfig({}).destinations, lookMs: 50 };
  const worker = await startTestService({ databaseUrl: copy.url, role: 'worker', destinations });
  const receiver = await startTestService({ databaseUrl: copy.url, role: 'receiver', changes });
  try {
    const get = (query: string) =>
      fetch(`${receiver.url}/changes${query}`, { headers: { Authorization: `Bearer ${token}` } });
    await until(async () => (await get('')).status === 200);
    expect((await get(`?after=${next}`)).status).toBe(410);
    const page = (await (await get('')).json()) as { changes: { id: string; version: number }[] };
    expect(page.changes.map(({ id }) => id)).toEqual(['1', '2']);
    for (const { version } of page.changes) expect(version).toBeGreaterThan(before[0]!.version);
    expect(await copy.rows('select distinct state, cursor, reason from destinations')).toEqual([
      { state: 'paused', cursor: null, reason: expect.stringContaining('restored or copied') },
    ]);
    expect(webhooks.requests).toBe(0);

    await resumeDestination(copy.db, behind.id);
    await until(() => webhooks.accepted.length === 2);
    expect(webhooks.accepted.map(({ data }) => data.id).toSorted()).toEqual(['1', '2']);
    expect(await copy.rows(`select state from destinations where id = '${anew.id}'`)).toEqual([
      { state: 'paused' },
    ]);
    expect((await get(`?after=${next}`)).status).toBe(410);
  } finally {
    await worker.stop();
    await receiver.stop();
    await copy.close();
    await webhooks.stop();
  }
});

it('after a start of the server cursors go on, and versions are greater than any that may have been lost', async () => {
  const { read } = await serve();
  const { next } = await read();
  await database.rows('update change_feed set server_started_at = null');
  const began = Date.now();
  await apply(database, [receipt(1)]);
  const { changes: found } = await read({ after: next });
  expect(found).toMatchObject([{ id: '1' }]);
  expect(found[0]!.version).toBeGreaterThanOrEqual(began);
});

it('whoever selects few changes gets them from behind any gap between positions', async () => {
  const { read } = await serve();
  let { next } = await read();
  await apply(database, [receipt(1)]);
  await database.rows(`
    insert into changes (position, kind, changed_at, families, business_ids, ids)
    select (select max(position) from changes) + 1e9 + 3 * n, 'changed', now(), '{appointment}', '{b}', array[n::text]
    from generate_series(1, 2500) n`);
  await apply(database, [receipt(2)]);
  const ids: string[] = [];
  for (let [more, pages] = [true, 0]; more && pages < 10; pages += 1) {
    const page = await read({ after: next, families: 'receipt' });
    ids.push(...page.changes.map(({ id }) => id));
    [next, more] = [page.next, page.more];
  }
  expect(ids).toEqual(['1', '2']);
});
