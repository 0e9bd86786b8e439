import { Command } from 'commander';
import { addFeatureCommands } from '../../../src/app/service.ts';
import { families } from '../../../src/callbacks/families/index.ts';
import { readRows } from '../../../src/embedded/move/copy.ts';
import { continueErasures, erasePatient } from '../../../src/privacy/erase.ts';
import { insertDeliveries } from '../../../src/receiver/store/insert-deliveries.ts';
import { logAccess } from '../../../src/receiver/store/log-access.ts';
import { loadVersion1 } from '../../fixtures/version-1.ts';
import { coreOf, everything, mergeAll, storeIn } from '../../support/core.ts';
import { createEmptyDatabase, type TestDatabase } from '../../support/database.ts';
import { deliveryOf, openIntake, routeOf } from '../../support/intake.ts';
import { captureOutput } from '../../support/output.ts';
import { killProcesses, spawnReceiver } from '../../support/process.ts';
import {
  createReceiverDatabase,
  type ReceiverDatabase,
  useReceiverDatabase,
} from '../../support/receiver-database.ts';
import { startRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';

const closes: (() => Promise<unknown>)[] = [];
const target = useReceiverDatabase('test');
afterEach(async () => {
  for (const close of closes.splice(0)) await close();
});
afterAll(killProcesses);
type Rows = (query: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

async function version2(): Promise<ReceiverDatabase> {
  const database = await createReceiverDatabase();
  closes.push(() => database.close());
  return database;
}

/** A database of version 1 as it was published. @param callbacks that it has instead of its own */
async function version1(callbacks?: readonly object[]): Promise<TestDatabase> {
  const database = await createEmptyDatabase();
  closes.push(() => database.close());
  await loadVersion1(database.url);
  if (!callbacks) return database;
  for (const table of ['inbox', 'resends', 'quarantine', 'withheld.records'])
    await database.rows(`delete from ${table}`);
  await insertCallbacks(database, callbacks);
  return database;
}

/** Stores callbacks as version 1 did, which counts those that it has already. @returns their ids */
async function insertCallbacks({ rows }: TestDatabase, callbacks: readonly object[]): Promise<string[]> {
  const deliveries = callbacks.map((one) => deliveryOf(one));
  await rows(
    `with given as (
       select d.*, d.envelope->>'event' as event, to_timestamp((d.envelope->>'event_time')::float8) as event_time
       from jsonb_to_recordset($1::jsonb) as d(id uuid, family text, envelope jsonb)
     ), stored as (
       insert into inbox (id, event, family, client_id, business_id, event_time, envelope)
       select id, event, family, 'c', 'b', event_time, envelope from given on conflict do nothing returning id
     )
     insert into resends (id, count, last_received_at)
     select id, 1, now() from given where id not in (select id from stored)`,
    [
      JSON.stringify(
        deliveries.map(({ id, family, body }) => ({ id, family, envelope: JSON.parse(body.toString()) })),
      ),
    ],
  );
  return deliveries.map(({ id }) => id);
}

/** Runs `receiver move`. @returns its output */
async function move(
  from: string,
  to: ReceiverDatabase = target,
  env: Record<string, string> = {},
): Promise<string> {
  const program = new Command('receiver').exitOverride();
  addFeatureCommands(program, { DATABASE_URL: to.url, ...env });
  return captureOutput(() => program.parseAsync(['move', '--from', from], { from: 'user' }));
}

/** The rows of the families, as far as they follow from callbacks. */
async function rowsOf({ rows }: { rows: Rows }) {
  const found: Record<string, unknown[]> = {};
  for (const { table } of families) found[table] = await rows(`select * from ${table} order by delivery_id`);
  return found;
}

/** Everything that a move brings. */
async function stateOf({ rows }: { rows: Rows }) {
  return {
    ...(await rowsOf({ rows })),
    callbacks: await rows(
      `select d.*, version, array(select unnest(subjects) order by 1) as subjects, data from deliveries d join receiver.inbox using (id) order by id`,
    ),
    quarantine: await rows('select * from receiver.quarantine order by id'),
    gate: await rows('select hash, until::text from receiver.erased order by 1'),
    withheld: await rows('select id, received_at from receiver.withheld order by 1'),
    holds: await rows('select * from receiver.holds order by 1'),
    aliases: await rows('select * from receiver.aliases order by 1, 2'),
    access: await rows(
      `select at, actor, action, subjects, filter, rows from access_log where action <> 'move' order by at`,
    ),
  };
}
type State = Awaited<ReturnType<typeof stateOf>>;

/** A database that has received all callbacks of one of version 1 itself, when that one did. */
async function receivedDirectly(source: { rows: Rows }): Promise<ReceiverDatabase> {
  const direct = await version2();
  const bodies = await source.rows(
    `select envelope::text as body, (extract(epoch from received_at) * 1000000)::float8 as at, delivery_count as count
     from deliveries`,
  );
  for (const { body, at, count } of bodies as { body: string; at: number; count: number }[]) {
    const delivery = deliveryOf(JSON.parse(body), at);
    await insertDeliveries(direct.pool, Array(count).fill(delivery), 60_000);
  }
  await mergeAll(coreOf(direct));
  return direct;
}

const withoutLast = ({ callbacks }: State) => callbacks.map(({ last_received_at: _, ...rest }) => rest);
const start = Math.floor(Date.now() / 1000) - 86_400;
const receipt = (receipt_id: number, data: object = {}, event = 'created') => ({
  ...{ event: `receipt.${event}`, event_time: start + receipt_id, business_id: 'b', client_id: 'c' },
  data: { receipt_id, ...data },
});
const receive = async (to: ReceiverDatabase, ...callbacks: object[]) => {
  const intake = openIntake(to);
  for (const one of callbacks) await intake.receive(Buffer.from(JSON.stringify(one)), routeOf('receipt'));
  await intake.close();
};

it('reports of moments before a move know what was stored by then', async () => {
  const source = await version2();
  await receive(source, receipt(1), receipt(2));
  await source.rows(`update receiver.inbox set stored_at = now() - interval '10 days'`);
  await move(source.url);
  const known = (days: number) =>
    target.rows(
      `select receipt_id::int as id from reporting.receipts_as_of(now() - $1 * interval '1 day') order by 1`,
      [days],
    );
  expect([await known(9), await known(11)]).toEqual([[{ id: 1 }, { id: 2 }], []]);
});

it('what is moved is read in parts of some megabytes', async () => {
  const client = await target.pool.connect();
  const parts: number[] = [];
  await client.query('begin');
  const query = `select repeat('x', case when n > 600 then 900000 else 10 end) as body from generate_series(1, 630) n`;
  for await (const rows of readRows(client, query, 500)) parts.push(rows.length);
  await client.query('rollback');
  client.release();
  expect(parts).toEqual([500, 109, 9, 9, 3]);
});

it('moves what a published version 1 has as if it had been received here, and a second time nothing', async () => {
  const source = await version1();
  const output = await move(source.url);
  const moved = await stateOf(target);
  const direct = await stateOf(await receivedDirectly(source));
  for (const { table } of families)
    expect([table, moved[table as 'holds']]).toEqual([table, direct[table as 'holds']]);
  expect(withoutLast(moved)).toEqual(withoutLast(direct));
  const times = 'select last_received_at from deliveries order by last_received_at';
  expect(await target.rows(times)).toEqual(await source.rows(times));
  const bodies = 'select id, path, reason, errors, body, count, received_at from quarantine order by id';
  expect(await target.rows(bodies)).toEqual(await source.rows(bodies));
  const names = 'select kind, id, alias, updated_by from ';
  expect(await target.rows(`${names} receiver.aliases order by 1, 2`)).toEqual(
    await source.rows(`${names} aliases order by 1, 2`),
  );
  const entries = 'select at, actor, action, filter, rows::int from access_log';
  expect(await target.rows(`${entries} where action <> 'move' order by entry`)).toEqual(
    await source.rows(`${entries} order by entry`),
  );
  expect(output).toContain('3 amounts of erased receipts');
  await move(source.url);
  expect(await stateOf(target)).toEqual(moved);
});

it('puts what the current rules refuse into the quarantine, with its arrival, and names it', async () => {
  const source = await version1([]);
  const [id] = await insertCallbacks(source, [
    { ...receipt(1), event_time: start + 10 * 86_400 },
    receipt(2),
  ]);
  expect(await move(source.url)).toContain(id);
  const [stored] = await source.rows('select received_at from inbox where id = $1', [id]);
  expect(await target.rows('select id, acknowledged, count, received_at from receiver.quarantine')).toEqual([
    { id, acknowledged: true, count: 1, received_at: stored!.received_at },
  ]);
  expect(await target.rows('select receipt_id from receipts')).toEqual([{ receipt_id: '2' }]);
});

it('nothing is lost or counted twice, however often it is killed', async () => {
  const callbacks = Array.from({ length: 3_000 }, (_, n) => receipt(n % 2_500, { n, net_amount: n }));
  const source = await version1(callbacks);
  await insertCallbacks(source, callbacks.slice(0, 1_000));
  const count = async () =>
    (await target.rows('select count(*)::int as n from receiver.inbox'))[0]!.n as number;
  let kills = 0;
  while (kills < 2) {
    const before = await count();
    const { child, end } = spawnReceiver(['move', '--from', source.url], {
      DATABASE_URL: target.url,
    });
    await until(async () => child.exitCode !== null || (await count()) > before + 400 * kills);
    expect(child.exitCode).toBeNull();
    if ((await end('SIGKILL')) === 'SIGKILL') kills += 1;
  }
  await move(source.url);
  const direct = await receivedDirectly(source);
  expect(await rowsOf(target)).toEqual(await rowsOf(direct));
  expect(withoutLast(await stateOf(target))).toEqual(withoutLast(await stateOf(direct)));
});

it('takes callbacks meanwhile, and what both have received is one with both counts', async () => {
  const old = Array.from({ length: 2_000 }, (_, n) => receipt(n, { net_amount: n }));
  const source = await version1(old);
  const resent = old.filter((_, n) => n % 10 === 0);
  const incoming = resent.flatMap((one, n) => [
    one,
    receipt(5_000 + n),
    receipt(n, { name: `n${n}` }, 'updated'),
  ]);
  await Promise.all([move(source.url), receive(target, ...incoming)]);
  await mergeAll(coreOf(target));
  await move(source.url);
  const counts = 'select delivery_count as c, count(*)::int as n from deliveries group by 1 order by 1';
  expect(await target.rows(counts)).toEqual([
    { c: 1, n: 1_800 + 400 },
    { c: 2, n: 200 },
  ]);
  const late = `select count(*)::int as n from receiver.inbox where received_at < $1`;
  const [{ at }] = (await source.rows('select max(received_at) as at from inbox')) as [{ at: Date }];
  expect(await target.rows(late, [new Date(at.getTime() + 1)])).toEqual([{ n: 2_000 }]);
  expect(await target.rows('select count(*)::int as n, count(name)::int as named from receipts')).toEqual([
    { n: 2_200, named: 200 },
  ]);
});

const person = { patient_oid: 'CANARY-1', name: 'CANARY', mobile: '+91CANARY' };

const other = receipt(2, { patient_oid: 'B', name: 'other' });
const subjects = ['p:platform:CANARY-1'];

/** Nothing of the erased person is stored: a resend, a lean update, an earlier callback of another record. */
async function expectErased() {
  await receive(
    ...[target, receipt(1, { ...person, net_amount: 5 }), receipt(1, { name: 'CANARY', n: 1 }, 'updated')],
    receipt(3, { ...person, net_amount: 7 }),
  );
  await continueErasures(coreOf(target));
  await mergeAll(coreOf(target));
  expect(await everything(target)).not.toContain('CANARY');
  expect(await target.rows('select receipt_id, net_amount::int, name from receipts order by 1')).toEqual([
    { receipt_id: '1', net_amount: 5, name: null },
    { receipt_id: '2', net_amount: null, name: 'other' },
    { receipt_id: '3', net_amount: 7, name: null },
  ]);
}

it('who was erased in a database of version 2 stays erased here, and keeps amounts, counts and holds', async () => {
  const source = await version2();
  await receive(source, receipt(1, { ...person, net_amount: 5 }), other, other);
  await mergeAll(coreOf(source));
  await source.rows(`insert into receiver.holds select receiver.hash_of('p:platform:B'), 'somebody'`);
  await logAccess(coreOf(source), { actor: { id: 'somebody' }, action: 'reveal', subjects });
  await erasePatient(coreOf(source), subjects, { actor: 'somebody' });
  await move(source.url);
  expect(await stateOf(target)).toEqual(await stateOf(source));
  await expectErased();
  await expect(move(target.url)).rejects.toThrow('this database, or a copy');
});

it('erases what came here before the gate did, and what an earlier move has brought', async () => {
  const source = await version2();
  await receive(source, receipt(1, { ...person, net_amount: 5 }), other);
  await receive(target, receipt(3, { ...person, net_amount: 7 }));
  await move(source.url);
  expect(await everything(target)).toContain('CANARY');
  await erasePatient(coreOf(source), subjects, { actor: 'somebody' });
  await move(source.url);
  await expectErased();
});

it('a second move brings no refused body of somebody who was erased here', async () => {
  const source = await version2();
  const intake = openIntake(source);
  const body = JSON.stringify({
    event: 'receipt.created',
    event_time: 1_790_000_000,
    data: { patient_oid: 'A' },
  });
  await expect(intake.receive(Buffer.from(body), routeOf('receipt'))).rejects.toThrow();
  await intake.close();
  const core = coreOf(target);
  await move(source.url);
  expect(await target.rows('select from receiver.quarantine')).toHaveLength(1);
  await erasePatient(core, ['p:platform:A'], { actor: 'tests' });
  await move(source.url);
  expect(await target.rows('select from receiver.quarantine')).toEqual([]);
});

it('what two moves bring before and after an erasure is there once', async () => {
  const source = await version2();
  const request = { event: 'google_review.request', event_time: start, data: { patient_id: 'CANARY-1' } };
  await receive(source, receipt(1, { ...person, net_amount: 5 }));
  await storeIn(coreOf(source), deliveryOf(request));
  await move(source.url);
  await erasePatient(coreOf(source), subjects, { actor: 'somebody' });
  await move(source.url);
  await continueErasures(coreOf(target));
  await mergeAll(coreOf(target));
  const counts = `select (select count(*)::int from receiver.inbox) as stored, (select count(*)::int from review_requests) as requests,
    (select jsonb_agg(counts) from receiver.erasures) as counts`;
  expect(await target.rows(counts)).toEqual(await source.rows(counts));
  expect(await everything(target)).not.toContain('CANARY');
});

it('refuses another salt where there are hashes already', async () => {
  const source = await version2();
  await target.rows(`insert into receiver.holds select receiver.hash_of('p:platform:B'), 'somebody'`);
  await expect(move(source.url)).rejects.toThrow('move into a new one');
});

it('whom version 1 has erased or holds stays so, as far as something has the ids', async () => {
  const source = await version1();
  const withheld = await source.rows(
    `select content->'envelope' as envelope from withheld.records where source = 'inbox' and content->>'family' = 'receipt'`,
  );
  const { envelope } = withheld[0] as { envelope: { data: object } };
  await move(source.url);
  await receive(target, envelope, { ...envelope, data: { ...envelope.data, unknown: 'another' } });
  await continueErasures(coreOf(target));
  const { businessId, recordId } = deliveryOf(envelope);
  const whole = `select from receiver.inbox where family = 'receipt' and business_id = $1 and record_id = $2
    and not 'reduced' = any(subjects)`;
  expect(await target.rows(whole, [businessId, recordId])).toEqual([]);
  expect(await target.rows('select from receiver.holds')).not.toEqual([]);
});

it('refuses while version 1 has callbacks in Redis, and names the stream', async () => {
  const [source, redis] = [await version1([receipt(1)]), await startRedis()];
  closes.push(redis.stop);
  const client = redis.client();
  await client.xadd('{receiver}:fallback:abc', '*', 'id', 'x', 'family', 'receipt', 'body', '{}');
  await expect(move(source.url, target, { REDIS_URL: redis.url })).rejects.toThrow(
    '{receiver}:fallback:abc (1)',
  );
  expect(await target.rows('select from receiver.inbox')).toEqual([]);
  await client.del('{receiver}:fallback:abc');
  await move(source.url, target, { REDIS_URL: redis.url });
  expect(await target.rows('select from receiver.inbox')).toHaveLength(1);
});

it('a start on a database of version 1 ends with 78 and says what to do', async () => {
  const source = await version1();
  const { end, output } = spawnReceiver(['start'], { DATABASE_URL: source.url, PORT: '0' });
  expect(await end()).toBe(78);
  expect(output()).toContain('receiver move --from');
});
