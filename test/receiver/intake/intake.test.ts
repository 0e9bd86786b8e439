import { gzipSync } from 'node:zlib';
import type { Delivery, SpilledDelivery } from '../../../src/callbacks/delivery.ts';
import { Rejection, UnsupportedMedia } from '../../../src/callbacks/rejection.ts';
import { createLog } from '../../../src/common/log.ts';
import type { IntakeOptions } from '../../../src/receiver/intake/store-delivery.ts';
import { databaseCircuit, StoreUnavailable } from '../../../src/receiver/store/circuit.ts';
import { connect, whileLocked } from '../../support/database.ts';
import { openIntake, routeOf } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { testConfig } from '../../support/service.ts';

const database = useReceiverDatabase('test');
const eventTime = Math.floor(Date.now() / 1000);
const receipt = (data: object = {}, envelope: object = {}) =>
  Buffer.from(
    JSON.stringify({
      event: 'receipt.created',
      event_time: eventTime,
      business_id: 'b',
      ...envelope,
      data: { receipt_id: 7, ...data },
    }),
  );
const receive = (body: string | Buffer, options: Partial<IntakeOptions> = {}) =>
  openIntake(database, options).receive(Buffer.from(body), routeOf('receipt'));
const inbox = () => database.rows('select * from receiver.inbox order by id');
const pending = () => database.rows('select * from receiver.pending_deliveries');
const quarantine = () =>
  database.rows(
    `select path, family, business_id, reason, convert_from(body, 'UTF8') as body, acknowledged, count from receiver.quarantine`,
  );

it('an acknowledged callback is in the inbox with its record, and waits', async () => {
  const stored: string[] = [];
  const intake = openIntake(database, { onStored: (_family, ids) => stored.push(...ids) });
  const { status, id } = await intake.receive(receipt({ receipt_id: '07' }), routeOf('receipt'));
  expect(status).toBe('accepted');
  expect(await inbox()).toMatchObject([
    { id, family: 'receipt', business_id: 'b', record_id: '7', data: null },
  ]);
  expect(await pending()).toMatchObject([{ id, family: 'receipt', attempts: 0 }]);
  expect(stored).toEqual([id]);
});

it('an acknowledged callback is on disk, also where a database does not wait for it', async () => {
  const name = new URL(database.url).pathname.slice(1);
  await database.rows(`alter database ${name} set synchronous_commit = off`);
  const { pool } = connect(database.url, 1);
  try {
    const intake = openIntake({ ...database, pool });
    const before = await pool.query('select pg_current_wal_insert_lsn() as lsn');
    await intake.receive(receipt(), routeOf('receipt'));
    const after = 'select pg_current_wal_flush_lsn() > $1::pg_lsn as is_flushed';
    expect((await pool.query(after, [before.rows[0].lsn])).rows).toEqual([{ is_flushed: true }]);
    expect((await pool.query('show synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }]);
  } finally {
    await pool.end();
  }
});

it('a resend is a duplicate, is counted and does not wait again', async () => {
  const intake = openIntake(database);
  const bodies = [1, 2, 3, 4].map((timestamp) => receipt({}, { timestamp }));
  const results = await Promise.all(bodies.map((body) => intake.receive(body, routeOf('receipt'))));
  expect(results.filter(({ status }) => status === 'duplicate')).toHaveLength(3);
  await database.rows('delete from receiver.pending_deliveries');
  expect(await intake.receive(bodies[1]!, routeOf('receipt'))).toMatchObject({ status: 'duplicate' });
  expect(await database.rows('select count from receiver.resends')).toEqual([{ count: 4 }]);
  expect(await pending()).toEqual([]);
  expect(await database.rows('select status, delivery_count from deliveries')).toEqual([
    { status: 'applied', delivery_count: 5 },
  ]);
});

it('of a resend with another timestamp the first to arrive counts, also where it is stored later', async () => {
  const intake = openIntake(database);
  const { id } = await intake.receive(receipt({}, { timestamp: eventTime + 9 }), routeOf('receipt'));
  await database.rows('delete from receiver.pending_deliveries');
  const [later] = await inbox();
  const body = receipt({}, { timestamp: eventTime + 1 });
  const receivedAt = Number(later!.received_at) * 1000 - 5_000_000;
  await intake.drain({ id, family: 'receipt', body, receivedAt });
  const [row] = await inbox();
  expect(row!.envelope).toMatchObject({ timestamp: eventTime + 1 });
  expect(String(row!.version) < String(later!.version)).toBe(true);
  expect(await pending()).toHaveLength(1);
});

it.each([
  ['no JSON', '{', 'not_json'],
  ['a key that is null', receipt({ receipt_id: null }), 'invalid'],
  ['the time 0', receipt({}, { event_time: 0 }), 'invalid'],
  ['no time', receipt({}, { event_time: undefined }), 'invalid'],
  ['a time in three days', receipt({}, { event_time: eventTime + 3 * 86_400 }), 'invalid'],
  ['an unknown event', receipt({}, { event: 'receipt.printed' }), 'invalid'],
  ['an event of another family', receipt({}, { event: 'mcert.created' }), 'wrong_family'],
  ['an event of the receiver itself', receipt({}, { event: 'appointment.reconciled' }), 'invalid'],
  ['what PostgreSQL cannot store', receipt({ remarks: '\0' }), 'invalid'],
  ['a list as its data', String(receipt()).replace(/"data".*/, '"data":[]}'), 'invalid'],
])('%s is refused, and kept with the reason', async (_, body, reason) => {
  for (const _ of [1, 2]) await expect(receive(body)).rejects.toMatchObject({ reason });
  expect(await quarantine()).toMatchObject([
    { reason, family: 'receipt', body: body.toString(), count: 2, acknowledged: false },
  ]);
  expect(await inbox()).toEqual([]);
});

it('a refused body is kept with the business that it names, as far as that can be stored', async () => {
  for (const id of ['"b"', '7', '"b\\u0000\\ud800"', '{}'])
    await expect(receive(`{"business_id":${id}}`)).rejects.toBeInstanceOf(Rejection);
  const names = (await quarantine()).map(({ business_id }) => business_id);
  expect(new Set(names)).toEqual(new Set(['b', '7', 'b\ufffd', null]));
});

it('everything but event, time, data and key may be absent, null, or of another type', async () => {
  const odd = { created_at: '', net_amount: '450.50', mobile: 919900000001, archive: true, name: null };
  const bodies = [
    receipt(odd),
    receipt({}, { business_id: null, client_id: null, timestamp: 'soon' }),
    receipt({}, { event: undefined, event_type: 'receipt.updated' }),
    receipt({}, { event_time: String(eventTime - 1) }),
  ];
  for (const body of bodies) expect(await receive(body)).toMatchObject({ status: 'accepted' });
});

it.each([
  ['2026-11-26T14:34:05', 'has no offset'],
  ['2026-11-26', 'ISO 8601 with an offset'],
  ['1999-12-31T00:00:00Z', 'from 2000 on'],
])('the time %s of an event is refused with what is wrong with it', async (event_time, message) => {
  await expect(receive(receipt({}, { event_time }))).rejects.toMatchObject({
    errors: [{ path: '/event_time', message: expect.stringContaining(message) }],
  });
});

it('an event that no family lists is taken at the path of every event alone', async () => {
  const intake = openIntake(database);
  const body = receipt({}, { event: 'rec.uploaded' });
  await expect(receive(body)).rejects.toMatchObject({ reason: 'invalid' });
  const { id } = await intake.receive(body, routeOf('other'));
  expect(await inbox()).toMatchObject([{ id, family: 'other', record_id: id, event: 'rec.uploaded' }]);
  expect(await intake.receive(receipt(), routeOf('other'))).toMatchObject({ status: 'accepted' });
});

it('a callback older than its family keeps is acknowledged, and not stored', async () => {
  const config = testConfig({ retention: { receipt: 86_400_000 } });
  const old = receipt({}, { event_time: eventTime - 2 * 86_400 });
  expect(await receive(old, { config })).toMatchObject({ status: 'expired' });
  expect(await inbox()).toEqual([]);
  // By one clock alone nothing is too old.
  const clock = { now: () => Date.now() - 5 * 86_400_000 };
  expect(await receive(old, { config, clock })).toMatchObject({ status: 'accepted' });
});

it('what was spilled is judged once both clocks are known', async () => {
  const body = receipt({}, { event_time: eventTime + 2 * 86_400 });
  const entry = { id: 'x', family: 'receipt', body, receivedAt: 1 };
  const unknown = openIntake(database, { clock: { now: () => undefined } });
  await expect(unknown.drain(entry)).rejects.toMatchObject({ name: 'Unavailable', delivery: 'x' });
  await openIntake(database).drain(entry);
  expect([await inbox(), await quarantine()]).toMatchObject([[], [{ reason: 'invalid' }]]);
});

it('a business or client that is not allowed is refused, and not kept', async () => {
  const config = testConfig({ authentication: { allowedClientIds: ['c'], allowedBusinessIds: ['b'] } });
  const send = (envelope: object) => receive(receipt({}, envelope), { config });
  await expect(send({})).rejects.toThrow('client_id');
  await expect(send({ client_id: 'c', business_id: 'x' })).rejects.toThrow('business_id');
  expect(await send({ client_id: 'c' })).toMatchObject({ status: 'accepted' });
  expect(await quarantine()).toEqual([]);
});

it('a one-time password and keys are stored nowhere, also not of a body that is refused', async () => {
  const secret = { token: 'SECRET', key_information: { nonce: 'SECRET' }, oid: '17' };
  const send = (body: string | object) =>
    openIntake(database).receive(
      Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
      routeOf('other'),
    );
  const event = { event: 'abha.context_discover_link_confirm', event_time: eventTime, data: secret };
  await send(event);
  await expect(send({ ...event, event_time: 0 })).rejects.toMatchObject({ reason: 'invalid' });
  const repeated = '{"event":"abha.x","data":{"token":"SECRET"},"data":{}}';
  await expect(send(repeated)).rejects.toMatchObject({ reason: 'invalid' });
  // What is merged differs from its data: without an error there is none.
  const data = { care_context_id: 'c', status: 'LINKED', ...secret };
  for (const status of ['accepted', 'duplicate'])
    expect(await send({ ...event, event: 'abha.link_care_context', data })).toMatchObject({ status });
  const stored = await database.rows('select envelope::text, data::text from receiver.inbox');
  expect(stored.filter(({ data }) => data !== null)).toHaveLength(1);
  const texts = JSON.stringify([stored, await quarantine()]);
  expect(texts).not.toContain('SECRET');
  expect(texts).toContain('17');
});

it('a refused body that is no text, or may have a secret and is no JSON, is kept as size and hash', async () => {
  const intake = openIntake(database);
  const json = '{"event":"abha.x","data":{"token":"SECRET"}}';
  const bodies = [
    gzipSync(json),
    Buffer.from(json, 'utf16le'),
    Buffer.from(`{"name":"\u00e9","token":"SECRET"}`, 'latin1'),
    Buffer.from(`payload=${encodeURIComponent(json)}`),
    Buffer.from(`a ${json}`),
    Buffer.from('{"\\u0074oken":"SECRET"'),
    Buffer.from('no secret'),
  ];
  for (const body of bodies) await intake.reject(new UnsupportedMedia('Send JSON.'), body, routeOf('other'));
  const kept = (await quarantine()).map(({ body }) => String(body));
  const isHash = (text: string) => /^\d+ bytes that are no JSON, SHA-256 [\da-f]{64}$/.test(text);
  expect(kept.filter((text) => !isHash(text))).toEqual(['no secret']);
});

it('a body that PostgreSQL refuses is rejected alone, and its neighbours are stored', async () => {
  await database.rows(`alter table receiver.inbox add check (record_id <> '666')`);
  const intake = openIntake(database);
  const ids = [1, 2, 666, 3, 4];
  const results = await Promise.allSettled(
    ids.map((receipt_id) => intake.receive(receipt({ receipt_id }), routeOf('receipt'))),
  );
  expect(results.map(({ status }) => status)).toEqual(
    ids.map((id) => (id === 666 ? 'rejected' : 'fulfilled')),
  );
  expect(await quarantine()).toMatchObject([{ reason: 'refused_by_database' }]);
  expect(await inbox()).toHaveLength(4);
});

/** PostgreSQL raises this for a callback of Asha, as in another language. */
const refuse = (sqlstate: string) =>
  database.rows(`
    create or replace function refuse() returns trigger language plpgsql as $$ begin
      if new.envelope::text ~ 'Asha' then raise exception sqlstate '${sqlstate}' using message = '»Asha« ist "ung"ültig'; end if;
      return new; end $$;
    create or replace trigger refuse before insert on receiver.inbox for each row execute function refuse()`);

it('PostgreSQL’s words about a body are neither sent nor kept', async () => {
  await refuse('22023');
  await expect(receive(receipt({ name: 'Asha' }))).rejects.toThrow(/^22023$/);
  expect(await database.rows('select errors from receiver.quarantine')).toEqual([
    { errors: [{ path: '', message: '22023' }] },
  ]);
});

it('a callback that PostgreSQL refuses for an unknown reason is to be sent again', async () => {
  await refuse('0A000');
  await expect(receive(receipt({ name: 'Asha' }))).rejects.toMatchObject({ name: 'Unavailable' });
  expect(await quarantine()).toEqual([]);
});

it('a callback that another row stands in the way of is to be sent again, and is not refused', async () => {
  await database.rows('create unique index on receiver.inbox (business_id)');
  await receive(receipt());
  await expect(receive(receipt({ receipt_id: 8 }))).rejects.toMatchObject({ name: 'Unavailable' });
  expect(await quarantine()).toEqual([]);
});

it('with PostgreSQL away a callback is acknowledged from the fallback, without secrets, or not at all', async () => {
  const spilled: unknown[] = [];
  const circuit = { run: () => Promise.reject(new StoreUnavailable('PostgreSQL')) };
  const fallback = { append: async (deliveries: unknown[]) => void spilled.push(...deliveries) };
  const { status, id } = await receive(receipt(), { circuit, fallback });
  expect(status).toBe('accepted');
  expect(spilled).toMatchObject([{ id, family: 'receipt', body: receipt() }]);
  const abha = { event: 'abha.x', event_time: eventTime, data: { token: 'SECRET', oid: '17' } };
  const intake = openIntake(database, { circuit, fallback });
  await intake.receive(Buffer.from(JSON.stringify(abha)), routeOf('other'));
  expect(String((spilled[1] as Delivery).body)).toMatch(/^(?!.*SECRET).*"17"/);
  const refusing = { append: () => Promise.reject(new StoreUnavailable('Redis')) };
  for (const options of [{ circuit, fallback: refusing }, { circuit }])
    await expect(receive(receipt(), options)).rejects.toMatchObject({ name: 'Unavailable', delivery: id });
});

it('what the drain cannot store is in the quarantine, as acknowledged', async () => {
  const drain = (body: Buffer, options = {}) =>
    openIntake(database, options).drain({ id: '', family: 'receipt', body, receivedAt: 1 });
  await drain(Buffer.from('not a body'));
  await drain(receipt({}, { event_time: eventTime + 5 * 86_400 }));
  // Also of a client that is not allowed any more.
  const config = testConfig({ authentication: { allowedClientIds: ['c'] } });
  await drain(receipt({ receipt_id: 9 }), { config });
  expect((await quarantine()).map(({ acknowledged }) => acknowledged)).toEqual([true, true, true]);
});

it('drift is counted by event and field, with an example, and holds no values', async () => {
  const intake = openIntake(database);
  await intake.receive(
    receipt({ net_amount: 'Asha', receipt_status: 'NEW', 'Asha Rao': 1, further: 2 }),
    routeOf('receipt'),
  );
  await intake.close();
  const rows = await database.rows(
    `select key::jsonb as key, count::int, example from receiver.counters where name = 'drift'`,
  );
  expect(rows.map(({ key }) => key)).toEqual(
    expect.arrayContaining([
      ['receipt.created', '/data/net_amount', 'unfit', ''],
      ['receipt.created', '/data/receipt_status', 'value', 'NEW'],
      ['receipt.created', '/data/<key>', 'unknown', ''],
      ['receipt.created', '/data/further', 'unknown', ''],
      ['receipt.created', '/data/name', 'missing', ''],
    ]),
  );
  expect(JSON.stringify(rows)).not.toContain('Asha');
});

it('drift of what the fallback store has is counted once, when it is drained', async () => {
  const spilled: SpilledDelivery[] = [];
  const fallback = { append: async (deliveries: SpilledDelivery[]) => void spilled.push(...deliveries) };
  let isAway = true;
  const run: IntakeOptions['circuit']['run'] = async (call) => {
    if (isAway) throw new StoreUnavailable('PostgreSQL');
    return call();
  };
  const intake = openIntake(database, { circuit: { run }, fallback });
  const send = (receipt_id: number) =>
    intake.receive(receipt({ receipt_id, further: 1 }), routeOf('receipt'));
  expect((await send(1)).status).toBe('accepted');
  isAway = false;
  await send(2);
  await intake.close();
  const later = openIntake(database);
  for (const delivery of [...spilled, ...spilled]) await later.drain(delivery);
  await later.close();
  const rows = await database.rows(
    `select count::int from receiver.counters where name = 'drift' and key like '%further%'`,
  );
  expect(rows).toEqual([{ count: 2 }]);
});

it.each([
  ['the quarantine', 'lock table receiver.quarantine in share mode'],
  ['the counters', 'lock table receiver.counters in exclusive mode'],
])('a lock on %s keeps no callback waiting, and is no outage', async (_, lock) => {
  const circuit = databaseCircuit(database.pool, createLog('silent'), 10_000);
  const intake = openIntake(database, { circuit, config: testConfig({ times: { databaseMs: 10_000 } }) });
  await whileLocked(database, lock, async () => {
    const rejected = Array.from({ length: 6 }, () =>
      intake.receive(Buffer.from('not JSON'), routeOf('receipt')).catch((error) => error.name),
    );
    for (let receipt_id = 1; receipt_id <= 20; receipt_id += 1)
      expect(await intake.receive(receipt({ receipt_id, further: 1 }), routeOf('receipt'))).toMatchObject({
        status: 'accepted',
      });
    await Promise.all(rejected);
    await intake.close();
  });
  expect(circuit.unavailableSince).toBeUndefined();
  circuit.stop();
});

it('an arrival follows the clock of the machine, also where it is set back', async () => {
  const now = jest.spyOn(Date, 'now');
  const realNow = Date.now();
  const hour = 3_600_000;
  for (const [receipt_id, ms] of [realNow, realNow + 8 * hour, realNow + hour].entries()) {
    now.mockReturnValue(ms);
    await receive(receipt({ receipt_id }));
  }
  now.mockRestore();
  const rows = await database.rows(
    `select round(extract(epoch from received_at) * 1000)::float8 - $1 as later from receiver.inbox order by record_id`,
    [realNow],
  );
  expect(rows.map(({ later }) => later)).toEqual([0, 8 * hour, hour]);
});

it.each([{ id: '' }, { id: '  ' }, { id: [] }])('a key that is blank is none: %j', async ({ id }) => {
  const callback = { event: 'appointment.created', event_time: eventTime, data: { appointment_id: id } };
  const receiving = openIntake(database).receive(
    Buffer.from(JSON.stringify(callback)),
    routeOf('appointment'),
  );
  await expect(receiving).rejects.toMatchObject({
    errors: [{ path: '/data/appointment_id', message: expect.stringContaining('must be text') }],
  });
});
