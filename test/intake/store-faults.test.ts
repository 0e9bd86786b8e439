import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { type Delivery, NotStorable, Unavailable } from '../../src/intake/delivery.ts';
import { createInbox, type InboxOptions } from '../../src/intake/inbox.ts';
import { createIntake } from '../../src/intake/intake.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { createQuarantine } from '../../src/intake/quarantine.ts';
import { DataRefused } from '../../src/receiver/intake/rejection.ts';
import { type Circuit, createCircuit } from '../../src/receiver/store/circuit.ts';
import { deliveryOf, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const circuits: Circuit[] = [];
let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(async () => {
  for (const circuit of circuits.splice(0)) circuit.stop();
  await database.close();
});

function openCircuit() {
  const circuit = databaseCircuit(database.pool, { log });
  circuits.push(circuit);
  return circuit;
}

function openInbox(fallback?: InboxOptions['fallback']) {
  const circuit = openCircuit();
  const inbox = createInbox({ pool: database.pool, circuit, fallback, enqueue: async () => {}, log });
  return { inbox, circuit };
}

/** A fallback that remembers what was spilled. */
function createFallback() {
  const spilled: string[] = [];
  const options = {
    store: 'Redis',
    timeoutMs: 1_000,
    probe: async () => {},
    isOutage: () => true,
    onChange: () => {},
  };
  const append = async (deliveries: readonly Delivery[]) => {
    spilled.push(...deliveries.map(({ id }) => id));
    return true;
  };
  return { spilled, circuit: createCircuit(options), append };
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, receipt_id) => deliveryOf(receiptCallback({ data: { receipt_id } })));

const raise = (table: string, when = 'true', code = 'P0001') => `
  create or replace function raise_always() returns trigger language plpgsql as
    $$ begin raise exception 'nein' using errcode = '${code}'; end $$;
  create trigger dba before insert on ${table} for each row when (${when}) execute function raise_always()`;

describe.each<[name: string, broken: string, mended: string]>([
  ['a trigger of inbox that raises', raise('inbox'), 'drop trigger dba on inbox'],
  ['a trigger that blames the data', raise('inbox', 'true', '22023'), 'drop trigger dba on inbox'],
  ['a trigger that speaks of a limit', raise('inbox', 'true', '54000'), 'drop trigger dba on inbox'],
  ['a trigger with an error of no class', raise('inbox', 'true', 'ZZ001'), 'drop trigger dba on inbox'],
  [
    'a constraint that no row fulfils',
    'alter table inbox add constraint dba check (false) not valid',
    'alter table inbox drop constraint dba',
  ],
  [
    'a column that must be set',
    'alter table inbox add dba text not null default 1; alter table inbox alter dba drop default',
    'alter table inbox drop dba',
  ],
  [
    'a constraint that is checked at the commit',
    `create function never() returns trigger language plpgsql as $$ begin raise check_violation; end $$;
     create constraint trigger dba after insert on inbox deferrable initially deferred
       for each row execute function never()`,
    'drop trigger dba on inbox',
  ],
  [
    'a trigger that drops every row',
    `create function drop_row() returns trigger language plpgsql as $$ begin return null; end $$;
     create trigger dba before insert on inbox for each row execute function drop_row()`,
    'drop trigger dba on inbox',
  ],
  ['a trigger of pending deliveries', raise('pending_deliveries'), 'drop trigger dba on pending_deliveries'],
  [
    'a trigger that drops every pending delivery',
    `create function drop_row() returns trigger language plpgsql as $$ begin return null; end $$;
     create trigger dba before insert on pending_deliveries for each row execute function drop_row()`,
    'drop trigger dba on pending_deliveries',
  ],
  [
    'a table of pending deliveries that is gone',
    'alter table pending_deliveries rename to dba',
    'alter table dba rename to pending_deliveries',
  ],
])('%s', (_name, broken, mended) => {
  it('is an outage: nothing is rejected or acknowledged, and deliveries are stored when it has ended', async () => {
    const { inbox, circuit } = openInbox();
    const deliveries = numbered(20);
    await database.pool.query(broken);
    const results = await Promise.allSettled(deliveries.map((one) => inbox.append(one)));
    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) });
      expect((result as PromiseRejectedResult).reason).not.toBeInstanceOf(NotStorable);
    }
    expect(circuit.isOpen).toBe(true);
    await database.pool.query(mended);
    await circuit.whenClosed(AbortSignal.timeout(20_000));
    expect(await inbox.append(deliveries[0]!)).toBe('accepted');
    expect(await database.rows('select count(*)::int as n from inbox')).toEqual([{ n: 1 }]);
  });

  it('is an outage for a lone delivery too, which the fallback takes', async () => {
    const fallback = createFallback();
    const { inbox, circuit } = openInbox(fallback);
    const [delivery] = numbered(1);
    await database.pool.query(broken);
    expect(await inbox.append(delivery!)).toBe('accepted');
    expect(fallback.spilled).toEqual([delivery!.id]);
    expect(circuit.isOpen).toBe(true);
  });
});

it('one delivery at which a trigger raises is neither rejected nor acknowledged; its neighbours are stored', async () => {
  const fallback = createFallback();
  const { inbox, circuit } = openInbox(fallback);
  const deliveries = numbered(50);
  const poison = deliveries[13]!;
  await database.pool.query(raise('inbox', `new.id = '${poison.id}'`));
  for (const _ of [1, 2]) {
    const results = await Promise.allSettled(deliveries.map((one) => inbox.append(one)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(49);
    expect(results[13]).toMatchObject({ reason: expect.any(NotStorable) });
    expect([circuit.isOpen, fallback.spilled]).toEqual([false, []]);
  }
});

it('a delivery that a trigger drops from the pending ones is not acknowledged, nor when it is sent again', async () => {
  const { inbox, circuit } = openInbox();
  const deliveries = numbered(20);
  await database.pool.query(`create function drop_row() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger dba before insert on pending_deliveries for each row
      when (new.id = '${deliveries[13]!.id}') execute function drop_row()`);
  for (const _ of [1, 2]) {
    const results = await Promise.allSettled(deliveries.map((one) => inbox.append(one)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(19);
    expect(results[13]).toMatchObject({ reason: expect.any(NotStorable) });
  }
  expect(circuit.isOpen).toBe(false);
  await database.pool.query('drop trigger dba on pending_deliveries');
  expect(await inbox.append(deliveries[13]!)).toBe('accepted');
  expect(await database.rows('select count(*)::int as n from pending_deliveries')).toEqual([{ n: 20 }]);
});

it('a delivery that conflicts with another in a unique index of a DBA is not rejected: it may be stored at another time', async () => {
  const { inbox, circuit } = openInbox();
  await database.pool.query(`create unique index dba on inbox ((envelope->'data'->>'receipt_number'))
    where family = 'receipt' and envelope->'data'->>'receipt_number' like 'twice%'`);
  const named = (receipt_id: number) =>
    deliveryOf(receiptCallback({ data: { receipt_id, receipt_number: 'twice' } }));
  expect(await inbox.append(named(1))).toBe('accepted');
  await expect(inbox.append(named(2))).rejects.toThrow(NotStorable);
  expect(circuit.isOpen).toBe(false);
});

it('one delivery whose data a trigger blames is rejected; its neighbours are stored', async () => {
  const { inbox, circuit } = openInbox();
  const deliveries = numbered(50);
  await database.pool.query(raise('inbox', `new.id = '${deliveries[13]!.id}'`, '22023'));
  const results = await Promise.allSettled(deliveries.map((one) => inbox.append(one)));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(49);
  expect(results[13]).toMatchObject({ reason: expect.any(DataRefused) });
  expect(circuit.isOpen).toBe(false);
});

it('an acknowledged delivery that PostgreSQL does not store, and does not refuse, is parked with its reason', async () => {
  const [delivery, neighbour] = numbered(2);
  const { pool } = database;
  await pool.query(raise('inbox', `new.id = '${delivery!.id}'`));
  const config = parseConfig({}, families);
  const intake = createIntake({ config, families, pool, circuit: openCircuit(), log });
  await Promise.all([intake.drain(delivery!), intake.drain(neighbour!)]);
  expect(await database.rows('select id from inbox')).toEqual([{ id: neighbour!.id }]);
  expect(await database.rows('select body, acknowledged, errors from quarantine')).toEqual([
    { body: delivery!.body, acknowledged: true, errors: [{ path: '', message: 'P0001 nein' }] },
  ]);
  await intake.close();
});

it('a rejected body is answered with 503 while the quarantine cannot store it, and deliveries are stored', async () => {
  const { pool } = database;
  const circuit = openCircuit();
  const intake = createIntake({ config: parseConfig({}, families), families, pool, circuit, log });
  const route = { family: families[0], path: '/receipts' };
  const bad = Buffer.from('{"event":"receipt.created"}');
  const good = Buffer.from(JSON.stringify(receiptCallback({ event_time: 1_700_000_000 })));
  await pool.query(raise('quarantine', 'true', '22023'));
  await expect(intake.receive(bad, route)).rejects.toThrow(Unavailable);
  expect(await intake.receive(good, route)).toMatchObject({ status: 'accepted' });
  expect(circuit.isOpen).toBe(false);
  await pool.query('drop trigger dba on quarantine');
  await until(() => intake.receive(bad, route).catch((error) => !(error instanceof Unavailable)));
  expect(await database.rows('select body from quarantine')).toEqual([{ body: bad }]);
  await intake.close();
});

it('a rejected body at which a trigger raises leaves the others in quarantine', async () => {
  const { pool } = database;
  const limits = { rows: 100, bytes: 1e6 };
  const quarantine = createQuarantine({ families, pool, limits, log });
  await pool.query(raise('quarantine', `new.body = 'poison'::bytea`));
  const bodies = ['one', 'poison', 'two'].map((text) => ({
    path: '/x',
    reason: 'invalid' as const,
    errors: [],
    body: Buffer.from(text),
  }));
  const results = await Promise.allSettled(bodies.map((body) => quarantine.keep(body)));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(results[1]).toMatchObject({ reason: expect.any(Unavailable) });
  expect(await database.rows('select count(*)::int as n from quarantine')).toEqual([{ n: 2 }]);
  await quarantine.close();
});
