import { gzipSync } from 'node:zlib';
import type { Delivery } from '../../../src/callbacks/delivery.ts';
import { Rejection, UnsupportedMedia } from '../../../src/callbacks/rejection.ts';
import { createLog } from '../../../src/common/log.ts';
import { StoreUnavailable } from '../../../src/receiver/store/circuit.ts';
import { openPool } from '../../../src/receiver/store/pools.ts';
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
const inbox = () => database.rows('select * from receiver.inbox order by id');
const pending = () => database.rows('select * from receiver.pending_deliveries');
const quarantine = () =>
  database.rows(
    `select path, family, business_id, reason, convert_from(body, 'UTF8') as body, acknowledged, count from receiver.quarantine`,
  );

it('an acknowledged callback is in the inbox with its record, and waits', async () => {
  const stored: Delivery[] = [];
  const intake = openIntake(database, { onStored: (deliveries) => stored.push(...deliveries) });
  const { status, id } = await intake.receive(receipt({ receipt_id: '07' }), routeOf('receipt'));
  expect(status).toBe('accepted');
  expect(await inbox()).toMatchObject([
    { id, family: 'receipt', business_id: 'b', record_id: '7', data: null },
  ]);
  expect(await pending()).toMatchObject([{ id, family: 'receipt', attempts: 0 }]);
  expect(stored.map((one) => one.id)).toEqual([id]);
});

it('an acknowledged callback is on disk, also where a database does not wait for it', async () => {
  const name = new URL(database.url).pathname.slice(1);
  await database.rows(`alter database ${name} set synchronous_commit = off`);
  const size = { name: 'test', connections: 1, connectTimeoutMs: 60_000 };
  const pool = openPool(database.url, createLog('silent'), size);
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
  expect(results.map(({ status }) => status).sort()).toEqual([
    'accepted',
    'duplicate',
    'duplicate',
    'duplicate',
  ]);
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
  const early = receipt({}, { timestamp: eventTime + 1 });
  await intake.drain({
    id,
    family: 'receipt',
    body: early,
    receivedAt: Number(later!.received_at) * 1000 - 5_000_000,
  });
  const [row] = await inbox();
  expect(row!.envelope).toMatchObject({ timestamp: eventTime + 1 });
  expect(String(row!.version) < String(later!.version)).toBe(true);
  expect(await pending()).toHaveLength(1);
});

it.each([
  ['{', 'receipt', 'not_json'],
  [receipt({ receipt_id: null }), 'receipt', 'invalid'],
  [receipt({ receipt_id: '9223372036854775808' }), 'receipt', 'invalid'],
  [receipt({}, { event_time: 0 }), 'receipt', 'invalid'],
  [receipt({}, { event_time: '' }), 'receipt', 'invalid'],
  [receipt({}, { event_time: undefined }), 'receipt', 'invalid'],
  [receipt({}, { event_time: eventTime + 3 * 86_400 }), 'receipt', 'invalid'],
  [receipt({}, { event: 'receipt.printed' }), 'receipt', 'invalid'],
  [receipt({}, { event: 'mcert.created' }), 'receipt', 'wrong_family'],
  [receipt({}, { event: 'appointment.reconciled' }), 'appointment', 'invalid'],
  [receipt({ remarks: '\0' }), 'receipt', 'invalid'],
  [
    '{"event":"receipt.created","event_time":1763000000,"data":{"receipt_id":7,"remarks":"\\ud800"}}',
    'receipt',
    'invalid',
  ],
  [
    receipt()
      .toString()
      .replace(/"data".*/, '"data":[]}'),
    'receipt',
    'invalid',
  ],
])('%s at the path of %s is refused, and kept with the reason %s', async (body, family, reason) => {
  const intake = openIntake(database);
  const sent = Buffer.from(body);
  await expect(intake.receive(sent, routeOf(family))).rejects.toMatchObject({ reason });
  await expect(intake.receive(sent, routeOf(family))).rejects.toMatchObject({ reason });
  expect(await quarantine()).toMatchObject([
    { reason, family, body: sent.toString(), count: 2, acknowledged: false },
  ]);
  expect(await inbox()).toEqual([]);
});

it('a refused body is kept with the business that it names, as far as that can be stored', async () => {
  const intake = openIntake(database);
  for (const id of ['"b"', '7', '"b\\u0000\\ud800"', '{}'])
    await expect(
      intake.receive(Buffer.from(`{"business_id":${id}}`), routeOf('receipt')),
    ).rejects.toBeInstanceOf(Rejection);
  const names = (await quarantine()).map(({ business_id }) => business_id);
  expect(new Set(names)).toEqual(new Set(['b', '7', 'b\ufffd', null]));
});

it('everything but event, time, data and key may be absent, null, or of another type', async () => {
  const intake = openIntake(database);
  const odd = { created_at: '', net_amount: '450.50', mobile: 919900000001, archive: true, name: null };
  const bodies = [
    receipt(odd),
    receipt({}, { business_id: null, client_id: null, timestamp: 'soon' }),
    receipt({}, { event: undefined, event_type: 'receipt.updated' }),
    receipt({}, { event_time: String(eventTime - 1) }),
  ];
  for (const body of bodies)
    expect(await intake.receive(body, routeOf('receipt'))).toMatchObject({ status: 'accepted' });
});

it('a byte order mark before good JSON changes nothing, and a refusal names one elsewhere with its place', async () => {
  const intake = openIntake(database);
  const { id } = await intake.receive(receipt(), routeOf('receipt'));
  const marked = Buffer.from(`\ufeff${receipt()}`);
  expect(await intake.receive(marked, routeOf('receipt'))).toEqual({ status: 'duplicate', id });
  for (const [body, path, message] of [
    [`${receipt()}\ufeff`, '', `character ${receipt().length + 1} is U+FEFF`],
    [receipt({}, { '\ufeffbusiness_id': 'b' }), '/business_id', 'U+FEFF in its name'],
    [receipt({ '\ufeffnet_amount': 5 }), '/data/net_amount', 'U+FEFF in its name'],
    [receipt({}, { business_id: '\ufeffb' }), '/business_id', 'must not contain U+FEFF'],
    [receipt({}, { client_id: 'c\u200b' }), '/client_id', 'must not contain U+200B'],
    [receipt({ receipt_id: '\ufeff7' }), '/data/receipt_id', 'must not contain U+FEFF'],
    [receipt({}, { event: '\ufeffreceipt.updated' }), '/event', 'must not contain U+FEFF'],
  ] as const)
    await expect(intake.receive(Buffer.from(body), routeOf('receipt'))).rejects.toMatchObject({
      errors: [{ path, message: expect.stringContaining(message) }],
    });
  // It is one business's, not that of another.
  const names = (await quarantine()).map(({ business_id }) => business_id);
  expect(new Set(names)).toEqual(new Set(['b', null]));
});

it.each([
  ['2026-11-26T14:34:05', 'has no offset'],
  ['2026-11-26 14:34:05,5[Asia/Kolkata]', 'has no offset'],
  ['2026-11-26', 'ISO 8601 with an offset'],
  ['1999-12-31T00:00:00Z', 'from 2000 on'],
])('the time %s of an event is refused with what is wrong with it', async (event_time, message) => {
  await expect(
    openIntake(database).receive(receipt({}, { event_time }), routeOf('receipt')),
  ).rejects.toMatchObject({ errors: [{ path: '/event_time', message: expect.stringContaining(message) }] });
});

it('an event that no family lists is taken at the path of every event alone', async () => {
  const intake = openIntake(database);
  const body = receipt({}, { event: 'rec.uploaded' });
  await expect(intake.receive(body, routeOf('receipt'))).rejects.toMatchObject({ reason: 'invalid' });
  const { id } = await intake.receive(body, routeOf('other'));
  expect(await inbox()).toMatchObject([{ id, family: 'other', record_id: id, event: 'rec.uploaded' }]);
  expect(await intake.receive(receipt(), routeOf('other'))).toMatchObject({ status: 'accepted' });
});

it('a callback older than its family keeps is acknowledged, and stored only for a stored record', async () => {
  const config = testConfig({ retention: { receipt: 86_400_000 } });
  const intake = openIntake(database, { config });
  const old = receipt({}, { event_time: eventTime - 2 * 86_400 });
  expect(await intake.receive(old, routeOf('receipt'))).toMatchObject({ status: 'expired' });
  expect(await inbox()).toEqual([]);
  await intake.receive(receipt(), routeOf('receipt'));
  expect(await intake.receive(old, routeOf('receipt'))).toMatchObject({ status: 'accepted' });
  await database.rows('truncate receiver.inbox, receiver.pending_deliveries');
  // By one clock alone nothing is too old.
  const slow = openIntake(database, { config, clock: { current: async () => Date.now() - 5 * 86_400_000 } });
  expect(await slow.receive(old, routeOf('receipt'))).toMatchObject({ status: 'accepted' });
});

it('an event that our clock alone objects to goes to the fallback, or is to be sent again', async () => {
  const spilled: Delivery[] = [];
  const fallback = { append: async (some: unknown[]) => void spilled.push(...(some as Delivery[])) };
  const config = testConfig({ retention: { receipt: 86_400_000 } });
  const unknown = { config, clock: { current: async () => undefined } };
  for (const days of [-2, 2]) {
    const body = receipt({}, { event_time: eventTime + days * 86_400 });
    const { status, id } = await openIntake(database, { ...unknown, fallback }).receive(
      body,
      routeOf('receipt'),
    );
    expect([status, spilled.pop()]).toMatchObject(['accepted', { id, body }]);
    const unavailable = { name: 'Unavailable', delivery: id };
    const alone = openIntake(database, unknown);
    await expect(alone.receive(body, routeOf('receipt'))).rejects.toMatchObject(unavailable);
    const draining = openIntake(database, { ...unknown, fallback });
    const entry = { id, family: 'receipt', body, receivedAt: 1 };
    await expect(draining.drain(entry)).rejects.toMatchObject(unavailable);
  }
  expect([await inbox(), await quarantine(), spilled]).toEqual([[], [], []]);
});

it('a business or client that is not allowed is refused, and not kept', async () => {
  const config = testConfig({ authentication: { allowedClientIds: ['c'], allowedBusinessIds: ['b'] } });
  const intake = openIntake(database, { config });
  await expect(intake.receive(receipt(), routeOf('receipt'))).rejects.toThrow('client_id');
  await expect(
    intake.receive(receipt({}, { client_id: 'c', business_id: 'x' }), routeOf('receipt')),
  ).rejects.toThrow('business_id');
  expect(await intake.receive(receipt({}, { client_id: 'c' }), routeOf('receipt'))).toMatchObject({
    status: 'accepted',
  });
  expect(await quarantine()).toEqual([]);
});

it('a one-time password and keys are stored nowhere, also not of a body that is refused', async () => {
  const intake = openIntake(database);
  const secret = { token: 'SECRET', key_information: { nonce: 'SECRET' }, oid: '17' };
  const body = (event_time: number) =>
    Buffer.from(JSON.stringify({ event: 'abha.context_discover_link_confirm', event_time, data: secret }));
  await intake.receive(body(eventTime), routeOf('other'));
  await expect(intake.receive(body(0), routeOf('other'))).rejects.toMatchObject({ reason: 'invalid' });
  const repeated = Buffer.from('{"event":"abha.x","data":{"token":"SECRET"},"data":{}}');
  await expect(intake.receive(repeated, routeOf('other'))).rejects.toMatchObject({ reason: 'invalid' });
  // What is merged differs from its data: without an error there is none.
  const linked = { care_context_id: 'c', status: 'LINKED', ...secret };
  const event = { event: 'abha.link_care_context', event_time: eventTime, data: linked };
  for (const status of ['accepted', 'duplicate'])
    expect(await intake.receive(Buffer.from(JSON.stringify(event)), routeOf('other'))).toMatchObject({
      status,
    });
  const stored = await database.rows('select envelope::text, data::text from receiver.inbox');
  expect(stored.filter(({ data }) => data !== null)).toHaveLength(1);
  const texts = [stored, await quarantine()];
  expect(JSON.stringify(texts)).not.toContain('SECRET');
  expect(JSON.stringify(texts)).toContain('17');
});

it('of a refused body that is no text its size and hash are kept, and no escape of a form hides a secret', async () => {
  const intake = openIntake(database);
  const json = '{"event":"abha.x","data":{"token":"SECRET"}}';
  const bodies = [
    gzipSync(json),
    Buffer.from(json, 'utf16le'),
    Buffer.from(`{"name":"\u00e9","token":"SECRET"}`, 'latin1'),
    Buffer.from(`payload=${encodeURIComponent(json)}`),
    Buffer.from(`a ${json}`),
  ];
  for (const body of bodies) {
    const advice = new UnsupportedMedia('Send JSON.');
    await intake.reject(advice, body, routeOf('other'));
  }
  const kept = (await quarantine()).map(({ body }) => String(body));
  expect(kept.filter((text) => /^\d+ bytes that are no text, SHA-256 [\da-f]{64}$/.test(text))).toHaveLength(
    3,
  );
  expect(kept.filter((text) => text.endsWith('[redacted]'))).toHaveLength(2);
  expect(kept.join()).not.toContain('SECRET');
});

it('a full quarantine keeps the first bodies of each reason and what was acknowledged, and counts others', async () => {
  const intake = openIntake(database);
  const refuse = (body: string) =>
    expect(intake.receive(Buffer.from(body), routeOf('receipt'))).rejects.toBeInstanceOf(Rejection);
  await refuse('{"first":1}');
  await database.rows(`alter table receiver.quarantine alter column body set storage external`);
  await database.rows(`insert into receiver.quarantine (id, path, family, reason, errors, body)
    select gen_random_uuid(), '/x', 'receipt', 'invalid', '[]', convert_to(repeat('x', 33 * 1024 * 1024), 'UTF8')`);
  for (const body of ['{"first":1}', '{"second":2}', '{"second":2}', '{']) await refuse(body);
  await intake.drain({ id: 'x', family: 'receipt', body: Buffer.from('{"third":3}'), receivedAt: 1 });
  expect(
    await database.rows(
      `select convert_from(body, 'UTF8') as body, count from receiver.quarantine where path <> '/x' order by 1`,
    ),
  ).toEqual([
    { body: '{', count: 1 },
    { body: '{"first":1}', count: 2 },
    { body: '{"third":3}', count: 1 },
  ]);
  const counted = `select key, count::int from receiver.counters where name = 'quarantine'`;
  expect(await database.rows(counted)).toEqual([{ key: 'invalid', count: 2 }]);
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
  const sending = openIntake(database).receive(receipt({ name: 'Asha' }), routeOf('receipt'));
  await expect(sending).rejects.toThrow(/^22023$/);
  expect(await database.rows('select errors from receiver.quarantine')).toEqual([
    { errors: [{ path: '', message: '22023' }] },
  ]);
});

it('a callback that PostgreSQL refuses for an unknown reason is counted, and after hours kept', async () => {
  await refuse('0A000');
  const intake = openIntake(database);
  const send = () => intake.receive(receipt({ name: 'Asha' }), routeOf('receipt'));
  for (const _ of [1, 2]) await expect(send()).rejects.toMatchObject({ name: 'Unavailable' });
  expect(await quarantine()).toEqual([]);
  const counted = () => database.rows('select name, substr(key, 38) as reason, count from receiver.counters');
  expect(await counted()).toEqual([{ name: 'unstored', reason: '0A000', count: '2' }]);
  await database.rows(`update receiver.counters set first_at = now() - interval '7 hours'`);
  await expect(send()).rejects.toMatchObject({ name: 'DataRefused' });
  expect(await quarantine()).toMatchObject([
    { reason: 'refused_by_database', body: expect.stringContaining('Asha') },
  ]);
});

it('a callback that another row stands in the way of is to be sent again, and is not refused', async () => {
  await database.rows('create unique index on receiver.inbox (business_id)');
  const intake = openIntake(database);
  await intake.receive(receipt(), routeOf('receipt'));
  const second = intake.receive(receipt({ receipt_id: 8 }), routeOf('receipt'));
  await expect(second).rejects.toMatchObject({ name: 'Unavailable' });
  expect(await quarantine()).toEqual([]);
});

it('with PostgreSQL away a callback is acknowledged from the fallback, without secrets, or not at all', async () => {
  const spilled: unknown[] = [];
  const circuit = { timeoutMs: 1_000, run: () => Promise.reject(new StoreUnavailable('PostgreSQL')) };
  const fallback = { append: async (deliveries: unknown[]) => void spilled.push(...deliveries) };
  const intake = openIntake(database, { circuit, fallback });
  const { status, id } = await intake.receive(receipt(), routeOf('receipt'));
  expect([status, spilled]).toEqual([
    'accepted',
    [expect.objectContaining({ id, family: 'receipt', body: receipt() })],
  ]);
  const abha = { event: 'abha.x', event_time: eventTime, data: { token: 'SECRET', oid: '17' } };
  await intake.receive(Buffer.from(JSON.stringify(abha)), routeOf('other'));
  expect(String((spilled[1] as Delivery).body)).toMatch(/^(?!.*SECRET).*"17"/);
  const refusing = { append: () => Promise.reject(new StoreUnavailable('Redis')) };
  for (const one of [refusing, undefined])
    await expect(
      openIntake(database, { circuit, fallback: one }).receive(receipt(), routeOf('receipt')),
    ).rejects.toMatchObject({
      name: 'Unavailable',
      delivery: id,
    });
});

it('what the drain cannot store is in the quarantine, as acknowledged', async () => {
  const intake = openIntake(database);
  await intake.drain({ id: 'no id', family: 'receipt', body: Buffer.from('not a body'), receivedAt: 1 });
  await intake.drain({
    id: '',
    family: 'receipt',
    body: receipt({}, { event_time: eventTime + 5 * 86_400 }),
    receivedAt: 1,
  });
  expect(await quarantine()).toMatchObject([{ acknowledged: true }, { acknowledged: true }]);
  // Also of a client that is not allowed any more.
  const strict = openIntake(database, {
    config: testConfig({ authentication: { allowedClientIds: ['c'] } }),
  });
  await strict.drain({ id: '', family: 'receipt', body: receipt({ receipt_id: 9 }), receivedAt: 1 });
  expect((await quarantine()).filter(({ acknowledged }) => acknowledged)).toHaveLength(3);
});

it('a replay from the quarantine accepts what is valid by now, once', async () => {
  const intake = openIntake(database);
  const replay = (body: Buffer, dryRun = false) =>
    intake.replay(body, routeOf('consent_form').path, { dryRun });
  expect(await replay(receipt(), true)).toMatchObject({ outcome: 'accepted' });
  expect(await inbox()).toEqual([]);
  expect(await replay(receipt())).toMatchObject({ outcome: 'accepted' });
  expect(await replay(receipt())).toMatchObject({ outcome: 'duplicate' });
  expect(await replay(receipt({ receipt_id: {} }))).toMatchObject({
    outcome: 'rejected',
    reason: expect.stringContaining('/data/receipt_id'),
  });
});

it('drift is counted by event and field, with an example, and holds no values', async () => {
  const intake = openIntake(database);
  await intake.receive(
    receipt({ net_amount: 'Asha', receipt_status: 'NEW', 'Asha Rao': 1, further: 2 }),
    routeOf('receipt'),
  );
  await intake.flush();
  const rows = await database.rows(
    `select key::jsonb as key, count::int, example from receiver.counters where name = 'drift'`,
  );
  const keys = rows.map(({ key }) => JSON.stringify(key));
  expect(keys).toEqual(
    expect.arrayContaining(
      [
        '["receipt.created", "/data/net_amount", "unfit", ""]',
        '["receipt.created", "/data/receipt_status", "value", "NEW"]',
        '["receipt.created", "/data/<key>", "unknown", ""]',
        '["receipt.created", "/data/further", "unknown", ""]',
        '["receipt.created", "/data/name", "missing", ""]',
      ].map((one) => JSON.stringify(JSON.parse(one))),
    ),
  );
  expect(JSON.stringify(rows)).not.toContain('Asha');
});
