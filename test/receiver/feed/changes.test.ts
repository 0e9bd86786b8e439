import { setTimeout as sleep } from 'node:timers/promises';
import { type FeedCore, trimChanges } from '../../../src/feed/page.ts';
import { createRoute } from '../../../src/feed/route.ts';
import { createApp } from '../../../src/receiver/http/app.ts';
import { insertDeliveries } from '../../../src/receiver/intake/insert.ts';
import { openPool } from '../../../src/receiver/store/pools.ts';
import { useReceiverDatabase } from '../support/database.ts';
import { deliveryOf } from '../support/intake.ts';
import { change, createRandom, type Item, listen, openCore, positions, token } from './support.ts';

const database = useReceiverDatabase('test');
type Page = { changes: Item[]; next: string; more: boolean; detail: string };

/** @returns a function that reads `/changes` with a query */
async function serve(core: FeedCore) {
  const url = await listen(createApp({ routes: [createRoute(core)], log: core.log }));
  return async (query = '', bearer: string | undefined = token) => {
    const headers = bearer ? { Authorization: `Bearer ${bearer}` } : undefined;
    const response = await fetch(`${url}changes${query}`, { headers: { ...headers } });
    const text = await response.text();
    return { ...(JSON.parse(text) as Page), status: response.status, headers: response.headers, text };
  };
}

it('readers beside merges that overlap, abort and are killed get each change once, in order', async () => {
  // Commits take a while, of different length, and some fail: positions that were taken outside of the lock would cross.
  await database.rows(`
    create function disturb() returns trigger language plpgsql as $$ begin
      perform pg_sleep(random() * 0.01);
      if random() < 0.1 then raise exception 'disturbed' using errcode = 'P0001'; end if;
      return null;
    end $$;
    create constraint trigger disturb after insert on receiver.changes deferrable initially deferred
      for each row execute function disturb()`);
  const options = { name: 'writer', connections: 10, connectTimeoutMs: 60_000 };
  const pool = openPool(database.url, openCore(database).log, options);
  const core = openCore({ ...database, pool });
  const random = createRandom(7);
  let left = 400;
  const write = async () => {
    // The error is an outage, such as a killed session; the next merge of this record repeats it.
    for (; left > 0; left--)
      await change(core, Math.floor(random() * 50), { net_amount: left }).catch(() => {});
  };
  const kill = async () => {
    for (; left > 0; await sleep(100))
      await database.rows(`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'writer' order by random() limit 1`);
  };
  const read = await serve(openCore(database));
  let isOver = false;
  const follow = async (query: string) => {
    const seen: number[] = [];
    for (let [after, isLast] = ['', false]; !isLast; ) {
      const wasOver = isOver;
      const { changes, next, more } = await read(`?${query}${after}`);
      seen.push(...changes.map(({ version }) => version));
      after = `&after=${next}`;
      isLast = wasOver && !more;
    }
    return seen;
  };
  const writing = Promise.all([write(), write(), write(), write(), kill()]).then(() => {
    isOver = true;
  });
  const seen = await Promise.all([follow('limit=1'), follow('limit=7'), follow('business_id=b1'), writing]);
  await pool.end();
  const all = await positions(database);
  expect(seen.slice(0, 3)).toEqual([all, all, await positions(database, `business_id = 'b1'`)]);
  expect(all.length).toBeGreaterThan(100);
  expect(all.at(-1)! - all[0]!).toBeGreaterThan(all.length); // some were aborted
});

it('a change has the row as it is when it is read, with all digits; null where it is gone', async () => {
  const core = openCore(database);
  const read = await serve(core);
  await change(core, 1, { name: 'Asha', net_amount: '123456789012.34567891' }, 'created');
  await change(core, 2, { name: 'Ravi' });
  await change(core, 1, { name: 'Asha Rao' });
  await change(core, 2, {}, 'deleted');
  await database.rows('delete from receiver.inbox where record_id = $1', ['2']);
  await core.merge('receipt', { records: [{ businessId: 'b0', recordId: '2' }] });
  const { changes, next, more, text } = await read();
  const common = { family: 'receipt', changed_at: expect.stringMatching(/Z$/) };
  const first = { ...common, business_id: 'b1', id: '1', record: { name: 'Asha Rao' } };
  const second = { ...common, business_id: 'b0', id: '2', record: null };
  const told = [first, second, first, second, second];
  const kinds = ['changed', 'changed', 'changed', 'deleted', 'erased'];
  expect(changes).toMatchObject(told.map((change, n) => ({ ...change, kind: kinds[n] })));
  expect(text).toContain('"net_amount":123456789012.34567891');
  expect(changes.map(({ version }) => version)).toEqual(await positions(database));
  expect({ next, more }).toEqual({ next: changes[4]!.cursor, more: false });
  expect(await read(`?after=${next}`)).toMatchObject({ changes: [], next, more: false });
});

it('an id that may identify a patient is neither recorded nor told', async () => {
  const core = openCore(database);
  const data = { abha_address: 'asha@abdm', oid: '7' };
  const event = { event: 'abha.created', event_time: Math.floor(Date.now() / 1000), business_id: 'b' };
  await insertDeliveries(core.pool, [deliveryOf({ ...event, data })], 60_000);
  expect(await core.merge('health_account')).toMatchObject({ written: 1 });
  expect(await positions(database)).toEqual([]);
  const { status, text } = await (await serve(core))('?families=health_account');
  expect([status, text]).toEqual([400, expect.not.stringContaining('asha')]);
});

it('personal columns are for tokens that are not public, and after an entry of the access log', async () => {
  const entries: unknown[] = [];
  let isDown = false;
  const core = openCore(database, {}, async (_core, access) => {
    if (isDown) throw new Error('The access log could not be written');
    entries.push(access);
  });
  await change(core, 1, { name: 'Asha', patient_oid: '7', net_amount: 5, note: 'x' });
  const read = await serve(core);
  const shown = async (bearer?: string) => (await read('', bearer)).changes[0]!.record;
  expect(await shown()).toMatchObject({ name: 'Asha', net_amount: 5, extra: { note: 'x' } });
  expect(entries).toMatchObject([{ action: 'changes', subjects: ['p:platform:7'], rows: 1 }]);
  isDown = true;
  expect(await read()).toMatchObject({ status: 503, text: expect.not.stringContaining('Asha') });
  const row = await shown(`${token}-public`);
  expect(row).toMatchObject({ net_amount: 5, clinic_id: null });
  for (const column of ['name', 'patient_oid', 'extra']) expect(row).not.toHaveProperty(column);
});

it.each([
  ['?after=nonsense', 400],
  ['?after=x.1&after=x.2', 400],
  ['?familes=receipt', 400],
  ['?families=receipts', 400],
  ['?limit=1001', 400],
  ['?after=another.0', 410],
])('%s is %i', async (query, status) => {
  const { headers, ...answer } = await (await serve(openCore(database)))(query);
  expect([answer.status, headers.get('content-type')]).toEqual([status, 'application/problem+json']);
});

it('410 is for a cursor of another epoch, and one that has seen more than there is', async () => {
  const core = openCore(database);
  await change(core, 1);
  const read = await serve(core);
  const { next } = await read();
  expect((await read(`?after=${next}0`)).status).toBe(410);
  await database.rows(`update receiver.settings set value = 'next' where name = 'feed_epoch'`);
  expect(await read(`?after=${next}`)).toMatchObject({
    status: 410,
    detail: expect.stringContaining('beginning'),
  });
  expect((await read()).next).toMatch(/^next\.\d+$/);
});

it('a token that is wrong or missing is 401, and without configured tokens there is no feed', async () => {
  const read = await serve(openCore(database));
  for (const bearer of ['', `${token}x`]) {
    const { status, headers, text } = await read('', bearer);
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(text).not.toContain(token);
  }
  expect((await (await serve(openCore(database, { changes: undefined })))()).status).toBe(404);
});

it('of old changes the newest of each record stays', async () => {
  const core = openCore(database);
  const { signal } = new AbortController();
  for (const id of [1, 2, 1, 1]) await change(core, id, { net_amount: Math.random() });
  const all = await positions(database);
  await trimChanges(core, signal);
  expect(await positions(database)).toEqual(all);
  await database.rows(`update receiver.changes set at = now() - interval '31 days' where position <> $1`, [
    all[3],
  ]);
  await trimChanges(core, signal);
  expect(await positions(database)).toEqual([all[1], all[3]]);
});
