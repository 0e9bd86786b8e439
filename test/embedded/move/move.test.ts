import { Command } from 'commander';
import { addFeatureCommands, onCoreOf } from '../../../src/app/service.ts';
import { families } from '../../../src/callbacks/families/index.ts';
import { continueErasures, erasePatient } from '../../../src/privacy/erase.ts';
import { logAccess } from '../../../src/receiver/store/log-access.ts';
import { loadVersion1 } from '../../fixtures/version-1.ts';
import { closeLater } from '../../support/close-later.ts';
import { coreOf, everything, mergeAll, storeIn } from '../../support/core.ts';
import { createEmptyDatabase, type TestDatabase } from '../../support/database.ts';
import { deliveryOf, openIntake, routeOf } from '../../support/intake.ts';
import { killProcesses, spawnReceiver } from '../../support/process.ts';
import {
  createReceiverDatabase,
  type ReceiverDatabase,
  useReceiverDatabase,
} from '../../support/receiver-database.ts';
import { captureOutput } from '../../support/run-command.ts';
import { until } from '../../support/until.ts';

const target = useReceiverDatabase('test');
afterAll(killProcesses);
type Rows = TestDatabase['rows'];

/** A database of version 2 that has received callbacks. */
async function version2(...callbacks: object[]): Promise<ReceiverDatabase> {
  const database = await createReceiverDatabase();
  closeLater(database.close);
  await receive(database, ...callbacks);
  return database;
}

/** A database of version 1 as it was published. @param callbacks that it has instead of its own */
async function version1(callbacks?: readonly object[]): Promise<TestDatabase> {
  const database = await createEmptyDatabase();
  closeLater(database.close);
  await loadVersion1(database.url);
  if (!callbacks) return database;
  for (const table of ['inbox', 'resends', 'quarantine', 'withheld.records'])
    await database.rows(`delete from ${table}`);
  await insertCallbacks(database, callbacks);
  return database;
}

/** Stores callbacks as version 1 did, which counts those that it has already. @returns their ids */
async function insertCallbacks({ rows }: TestDatabase, callbacks: readonly object[]): Promise<string[]> {
  const deliveries = callbacks.map((callback) => deliveryOf(callback));
  await rows(
    `with incoming as (
       select id, family, d.envelope, d.envelope->>'event' as event, to_timestamp((d.envelope->>'event_time')::float8) as event_time
       from unnest($1::uuid[], $2::text[], $3::jsonb[]) as d(id, family, envelope)
     ), stored as (
       insert into inbox (id, event, family, client_id, business_id, event_time, envelope)
       select id, event, family, 'c', 'b', event_time, envelope from incoming on conflict do nothing returning id
     )
     insert into resends (id, count, last_received_at)
     select id, 1, now() from incoming where id not in (select id from stored)`,
    (['id', 'family', 'body'] as const).map((key) => deliveries.map((delivery) => `${delivery[key]}`)),
  );
  return deliveries.map(({ id }) => id);
}

/** Runs `receiver move`. @returns its output */
async function move(from: string, env: Record<string, string> = {}): Promise<string> {
  const program = new Command('receiver').exitOverride();
  addFeatureCommands(program, onCoreOf({ DATABASE_URL: target.url, ...env }));
  return captureOutput(() => program.parseAsync(['move', '--from', from], { from: 'user' }));
}

/** Everything that a move brings. */
async function stateOf({ rows }: { rows: Rows }) {
  const tables: Record<string, unknown[]> = {};
  for (const { table } of families) tables[table] = await rows(`select * from ${table} order by delivery_id`);
  return {
    tables,
    callbacks: await rows(
      `select to_jsonb(d) - '{delivery_count,last_received_at}'::text[] as delivery, version,
         array(select unnest(subjects) order by 1) as subjects, data
       from deliveries d join receiver.inbox using (id) order by id`,
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

/** A database that has received all callbacks of one of version 1 itself, when that one did. */
async function receivedDirectly(source: { rows: Rows }): Promise<ReceiverDatabase> {
  const direct = await version2();
  const bodies = await source.rows(
    'select envelope::text as body, (extract(epoch from received_at) * 1000000)::float8 as at from deliveries',
  );
  for (const { body, at } of bodies as { body: string; at: number }[])
    await direct.store(deliveryOf(JSON.parse(body), at));
  await mergeAll(coreOf(direct));
  return direct;
}

/** Callbacks and their rows. */
async function receivedIn(database: { rows: Rows }) {
  const { tables, callbacks } = await stateOf(database);
  return { tables, callbacks };
}

const start = Math.floor(Date.now() / 1000) - 86_400;
const receipt = (receipt_id: number, data: object = {}, event = 'created') => ({
  event: `receipt.${event}`,
  event_time: start + receipt_id,
  business_id: 'b',
  client_id: 'c',
  data: { receipt_id, ...data },
});
async function receive(to: ReceiverDatabase, ...callbacks: object[]): Promise<void> {
  const intake = openIntake(to);
  const bodies = callbacks.map((callback) => Buffer.from(JSON.stringify(callback)));
  try {
    for (const body of bodies) await intake.receive(body, routeOf('receipt'));
  } finally {
    await intake.close();
  }
}

it('reports of moments before a move know what was stored by then', async () => {
  const source = await version2(receipt(1), receipt(2));
  await source.rows(`update receiver.inbox set stored_at = now() - interval '10 days'`);
  await move(source.url);
  const query = `select receipt_id::int as id from reporting.receipts_as_of(now() - $1 * interval '1 day') order by 1`;
  expect(await target.rows(query, [9])).toEqual([{ id: 1 }, { id: 2 }]);
  expect(await target.rows(query, [11])).toEqual([]);
});

it('moves a published version 1 as if it had been received here, and a second time nothing', async () => {
  const source = await version1();
  const output = await move(source.url);
  expect(output).toContain('3 amounts of erased receipts');
  expect(output).toMatch(/\d+ hashes of erased people: erase them again/);
  const state = await stateOf(target);
  expect(await receivedIn(target)).toEqual(await receivedIn(await receivedDirectly(source)));
  for (const query of [
    'select id, path, reason, errors, body, count, received_at from quarantine order by id',
    `select at, actor, action, filter, rows::int from access_log where action <> 'move' order by entry`,
  ])
    expect(await target.rows(query)).toEqual(await source.rows(query));
  const names = 'select kind, id, alias, updated_by from';
  const aliases = await source.rows(`${names} aliases order by 1, 2`);
  expect(await target.rows(`${names} receiver.aliases order by 1, 2`)).toEqual(aliases);
  await move(source.url);
  expect(await stateOf(target)).toEqual(state);
});

it('quarantines what the current rules refuse, with its arrival, and names it', async () => {
  const source = await version1([]);
  const early = { ...receipt(1), event_time: start + 10 * 86_400 };
  const [id] = await insertCallbacks(source, [early, receipt(2)]);
  expect(await move(source.url)).toMatch(/receipt[ │]+1[ │]+1 /);
  const [stored] = await source.rows('select received_at from inbox where id = $1', [id]);
  expect(await target.rows('select id, acknowledged, count, received_at from receiver.quarantine')).toEqual([
    { id, acknowledged: true, count: 1, received_at: stored!.received_at },
  ]);
  expect(await target.rows('select receipt_id from receipts')).toEqual([{ receipt_id: '2' }]);
});

it('nothing is lost or applied twice, however often it is killed', async () => {
  const callbacks = Array.from({ length: 3_000 }, (_, n) => receipt(n % 2_500, { n, net_amount: n }));
  const source = await version1(callbacks);
  await insertCallbacks(source, callbacks.slice(0, 1_000));
  const count = () => target.count('receiver.inbox');
  let kills = 0;
  while (kills < 2) {
    const before = await count();
    const { child, end } = spawnReceiver(['move', '--from', source.url], { DATABASE_URL: target.url });
    await until(async () => child.exitCode !== null || (await count()) > before + 400 * kills);
    expect(child.exitCode).toBeNull();
    if ((await end('SIGKILL')) === 'SIGKILL') kills += 1;
  }
  await move(source.url);
  expect(await receivedIn(target)).toEqual(await receivedIn(await receivedDirectly(source)));
});

it('takes callbacks meanwhile, and what both have received is one with both counts', async () => {
  const old = Array.from({ length: 2_000 }, (_, n) => receipt(n, { net_amount: n }));
  const source = await version1(old);
  const resent = old.filter((_, n) => n % 10 === 0);
  const later = resent.flatMap((_, n) => [receipt(5_000 + n), receipt(n, { name: `n${n}` }, 'updated')]);
  await Promise.all([move(source.url), receive(target, ...resent, ...later)]);
  await mergeAll(coreOf(target));
  await move(source.url);
  const counts = 'select delivery_count as c, count(*)::int as n from deliveries group by 1 order by 1';
  expect(await target.rows(counts)).toEqual([
    { c: 1, n: 1_800 + 400 },
    { c: 2, n: 200 },
  ]);
  const [{ at }] = (await source.rows('select max(received_at) as at from inbox')) as [{ at: Date }];
  const late = new Date(at.getTime() + 1).toISOString();
  expect(await target.count(`receiver.inbox where received_at < '${late}'`)).toBe(2_000);
  expect(await target.rows('select count(*)::int as n, count(name)::int as named from receipts')).toEqual([
    { n: 2_200, named: 200 },
  ]);
});

const person = { patient_oid: 'CANARY-1', name: 'CANARY', mobile: '+91CANARY' };
const erased = receipt(1, { ...person, net_amount: 5 });
const other = receipt(2, { patient_oid: 'B', name: 'other' });
const subjects = ['p:platform:CANARY-1'];

/** Expects that nothing of the erased person is stored: a resend, a lean update, an earlier callback of another record. */
async function expectErased() {
  const lean = receipt(1, { name: 'CANARY', n: 1 }, 'updated');
  await receive(target, erased, lean, receipt(3, { ...person, net_amount: 7 }));
  await continueErasures(coreOf(target));
  await mergeAll(coreOf(target));
  expect(await everything(target)).not.toContain('CANARY');
  expect(await target.rows('select receipt_id, net_amount::int, name from receipts order by 1')).toEqual([
    { receipt_id: '1', net_amount: 5, name: null },
    { receipt_id: '2', net_amount: null, name: 'other' },
    { receipt_id: '3', net_amount: 7, name: null },
  ]);
}

it('a person erased in version 2 stays erased here, and amounts and holds are kept', async () => {
  const source = await version2(erased, other, other);
  await mergeAll(coreOf(source));
  await source.rows(`insert into receiver.holds select receiver.hash_of('p:platform:B'), 'somebody'`);
  await logAccess(coreOf(source), { actor: { id: 'somebody' }, action: 'reveal', subjects });
  await erasePatient(coreOf(source), { id: 'somebody' }, subjects);
  await move(source.url);
  expect(await stateOf(target)).toEqual(await stateOf(source));
  await expectErased();
  await expect(move(target.url)).rejects.toThrow('this database, or a copy');
});

it('erases what came here before the gate did, and what an earlier move has brought', async () => {
  const source = await version2(erased, other);
  await receive(target, receipt(3, { ...person, net_amount: 7 }));
  await move(source.url);
  expect(await everything(target)).toContain('CANARY');
  await erasePatient(coreOf(source), { id: 'somebody' }, subjects);
  await move(source.url);
  await expectErased();
});

it('a second move brings no refused body of somebody who was erased here', async () => {
  const source = await version2();
  await expect(receive(source, { ...other, data: { patient_oid: 'B' } })).rejects.toThrow();
  await move(source.url);
  expect(await target.rows('select from receiver.quarantine')).toHaveLength(1);
  await erasePatient(coreOf(target), { id: 'tests' }, ['p:platform:B']);
  await move(source.url);
  expect(await target.rows('select from receiver.quarantine')).toEqual([]);
});

it('what two moves bring before and after an erasure is there once', async () => {
  const source = await version2(erased);
  const request = { event: 'google_review.request', event_time: start, data: { patient_id: 'CANARY-1' } };
  await storeIn(coreOf(source), deliveryOf(request));
  await move(source.url);
  await erasePatient(coreOf(source), { id: 'somebody' }, subjects);
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

it('a start on a database of version 1 ends with 78 and says what to do', async () => {
  const source = await version1();
  const { end, output } = spawnReceiver(['start'], { DATABASE_URL: source.url, PORT: '0' });
  expect(await end()).toBe(78);
  expect(output()).toContain('receiver move --from');
});
