import { setTimeout as sleep } from 'node:timers/promises';
import { createChangesRoute } from '../../src/feed/changes-route.ts';
import { trimChanges } from '../../src/feed/read-changes.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { createApp } from '../../src/receiver/http/server.ts';
import { fingerprintOf } from '../../src/receiver/store/migrate.ts';
import { openPool } from '../../src/receiver/store/pools.ts';
import { seededRandom } from '../../src/sandbox/random.ts';
import { deliveryOf, receiptOf } from '../support/intake.ts';
import { listen } from '../support/listen.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { until } from '../support/until.ts';
import { change, type Item, openCore, positions, token } from './support.ts';

const database = useReceiverDatabase('test');
type Page = { changes: Item[]; next: string; more: boolean; detail: string };

/** @returns a function that reads `/changes` with a query */
async function serve(core: Core) {
  const url = await listen(createApp([createChangesRoute(core)], core.log));
  return async (query = '', bearer: string | undefined = token) => {
    const headers: HeadersInit = bearer ? { Authorization: `Bearer ${bearer}` } : {};
    const response = await fetch(`${url}/changes${query}`, { headers });
    const text = await response.text();
    return { ...(JSON.parse(text) as Page), status: response.status, headers: response.headers, text };
  };
}

it('readers beside overlapping, aborted and killed merges get each change once and in order', async () => {
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
  const random = seededRandom(7);
  let left = 400;
  const write = async () => {
    // The error is an outage, such as a killed session; the next merge of this record repeats it.
    for (; left > 0; left--) await change(core, random.between(0, 49), { net_amount: left }).catch(() => {});
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
  const queries = ['limit=1', 'limit=1000', 'business_id=b1'];
  const seen = await Promise.all(queries.map(follow));
  await writing;
  await pool.end();
  const all = await positions(database);
  expect(seen).toEqual([all, all, await positions(database, `business_id = 'b1'`)]);
  await until(async () => {
    await openCore(database).merge('receipt');
    return (await database.count('receiver.pending_deliveries')) === 0;
  });
  const wrong = await database.rows(`
    select receipt_id, net_amount, newest from receipts r cross join lateral (
      select (envelope #>> '{data,net_amount}')::numeric as newest from receiver.inbox i
      where i.record_id = r.receipt_id::text order by version desc limit 1
    ) i where net_amount <> newest`);
  expect(wrong).toEqual([]);
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
  const sent = [first, second, first, second, second];
  const kinds = ['changed', 'changed', 'changed', 'deleted', 'erased'];
  expect(changes).toMatchObject(sent.map((change, n) => ({ ...change, kind: kinds[n] })));
  expect(text).toContain('"net_amount":123456789012.34567891');
  expect(changes.map(({ version }) => version)).toEqual(await positions(database));
  expect({ next, more }).toEqual({ next: changes[4]!.cursor, more: false });
  expect(await read(`?after=${next}`)).toMatchObject({ changes: [], next, more: false });
  expect(await read('?families=consent_form')).toMatchObject({ changes: [], next, more: false });
});

it('an id that may identify a patient is neither recorded nor sent', async () => {
  const core = openCore(database);
  const data = { abha_address: 'asha@abdm', oid: '7' };
  const event = { event: 'abha.created', event_time: Math.floor(Date.now() / 1000), business_id: 'b' };
  await database.store(deliveryOf({ ...event, data }));
  expect(await core.merge('health_account')).toMatchObject({ written: 1 });
  expect(await positions(database)).toEqual([]);
  const { status, text } = await (await serve(core))('?families=health_account');
  expect([status, text]).toEqual([400, expect.not.stringContaining('asha')]);
});

it('personal columns are for tokens that are not public, and after an entry of the access log', async () => {
  const core = openCore(database);
  await change(core, 1, { name: 'Asha', patient_oid: '7', net_amount: 5, note: 'x' });
  const read = await serve(core);
  const shown = async (bearer?: string) => (await read('', bearer)).changes[0]!.record;
  expect(await shown()).toMatchObject({ name: 'Asha', net_amount: 5, extra: { note: 'x' } });
  const entries = `select action, rows, subjects = array[receiver.hash_of('p:platform:7')] as "isOfPatient" from access_log`;
  expect(await database.rows(entries)).toEqual([{ action: 'changes', rows: 1, isOfPatient: true }]);
  await database.rows('alter table access_log rename to gone');
  expect(await read()).toMatchObject({ status: 503, text: expect.not.stringContaining('Asha') });
  const row = await shown(`${token}-public`);
  await database.rows('alter table gone rename to access_log');
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
  expect((await read()).next).toMatch(/^next\.\d+\./);
});

it('a reader that was ahead of a restored database begins anew, also once that has as many changes', async () => {
  const core = openCore(database);
  await change(core, 1);
  const read = await serve(core);
  const { next: behind } = await read();
  await change(core, 2, { net_amount: 1 });
  const { next: ahead } = await read();
  await database.rows(`delete from receiver.changes where position > $1`, [(await positions(database))[0]]);
  await database.rows(`select setval(pg_get_serial_sequence('receiver.changes', 'position'),
    (select max(position) from receiver.changes))`);
  expect((await read(`?after=${ahead}`)).status).toBe(410);
  for (const id of [3, 4]) await change(core, id);
  expect((await read(`?after=${ahead}`)).status).toBe(410);
  const { changes } = await read(`?after=${behind}`);
  expect(changes.map(({ id }) => id)).toEqual(['3', '4']);
  // One that has waited for so long that its change was deleted goes on.
  const old = behind.replace(/[^.]+$/, '0');
  await change(core, 1);
  await database.rows(
    'delete from receiver.changes where position = (select min(position) from receiver.changes)',
  );
  expect((await read(`?after=${old}`)).changes).toHaveLength(3);
  expect((await read(`?after=${behind}`)).status).toBe(410);
});

it('a page has some megabytes, and all pages have every record, in order', async () => {
  const core = openCore(database);
  const big = (id: number) => receiptOf(id, { note: 'x'.repeat(id === 25 ? 5_000_000 : 235_000) });
  for (let id = 1; id <= 50; id += 10)
    await database.store(...Array.from({ length: 10 }, (_, n) => big(id + n)));
  for (let isFull = true; isFull; ) ({ isFull } = await core.merge('receipt'));
  await change(core, 99);
  const read = await serve(core);
  const seen: number[] = [];
  for (let [after, isMore] = ['', true]; isMore; ) {
    const { changes, next, more, text } = await read(after);
    expect(changes.length === 1 || text.length < 4_100_000).toBe(true);
    for (const { record } of changes) expect(record).not.toBeNull();
    seen.push(...changes.map(({ version }) => version));
    [after, isMore] = [`?after=${next}`, more];
  }
  expect(seen).toEqual(await positions(database));
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

it('a process whose families are not those of the tables passes over no change', async () => {
  const core = openCore(database);
  await change(core, 1);
  const read = await serve(core);
  const fingerprint = `update receiver.settings set value = $1 where name = 'families'`;
  await database.rows(fingerprint, ['of another version']);
  expect((await read()).status).toBe(503);
  await database.rows(fingerprint, [fingerprintOf(core.families)]);
  expect((await read()).changes).toHaveLength(1);
});

it('of old changes the newest of each record stays', async () => {
  const core = openCore(database);
  for (const id of [1, 2, 1, 1]) await change(core, id, { net_amount: Math.random() });
  const all = await positions(database);
  await trimChanges(core);
  expect(await positions(database)).toEqual(all);
  await database.rows(`update receiver.changes set at = now() - interval '31 days' where position <> $1`, [
    all[3],
  ]);
  await trimChanges(core);
  expect(await positions(database)).toEqual([all[1], all[3]]);
});
