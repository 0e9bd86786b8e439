import request from 'supertest';
import { createLog } from '../../src/common/log.ts';
import { rateLimit } from '../../src/common/rate-limit.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { createApp } from '../../src/http/app.ts';
import { createCallbackHandler } from '../../src/http/callback-handler.ts';
import { createIntake } from '../../src/intake/intake.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { createAccess } from '../../src/receiver/http/access.ts';
import { createDatabaseClock } from '../../src/receiver/store/clock.ts';
import {
  consentFormCallback,
  deliveryOf,
  paths,
  receiptCallback,
  reviewRequestCallback,
} from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';

const log = createLog('silent');
const database = useDatabase();
let app: ReturnType<typeof createApp>;
beforeAll(async () => {
  const config = { ...parseConfig({}, families), bodyLimitBytes: 10_000 };
  const { pool } = database;
  const circuit = databaseCircuit(pool, { log });
  const clock = createDatabaseClock(pool, circuit);
  const intake = createIntake({ config, families, pool, circuit, clock, log });
  const access = createAccess({ config, rejections: rateLimit({ points: 300, durationS: 60 }), clock, log });
  const callbacks = new Map(
    families.map((family) => [
      paths[family.name],
      createCallbackHandler(
        { family, path: paths[family.name] },
        { config, access, intake, onRejected: () => {}, log },
      ),
    ]),
  );
  app = createApp({ callbacks, health: [], log });
});

const send = (path: string, body: string | object) =>
  request(app).post(path).set('Content-Type', 'application/json').send(body);

it.each([
  ['receipt', paths.receipt, receiptCallback()],
  ['consent form', paths.consent_form, consentFormCallback()],
  ['review request', paths.review_request, reviewRequestCallback()],
])('a %s is accepted, then a duplicate, under the same id', async (_, path, callback) => {
  const { id } = deliveryOf(callback as never);
  await send(path, callback).expect(200, { status: 'accepted', id });
  await send(path, { ...callback, timestamp: 5 }).expect(200, { status: 'duplicate', id });
});

it.each([
  ['400 to a body that is not JSON', 400, '{"event":'],
  ['400 to an empty body', 400, ''],
  ['422 to JSON that is not an object', 422, '[]'],
  ['422 to an envelope without a required field', 422, { ...receiptCallback(), event_time: undefined }],
  ['422 to an unknown event', 422, { ...receiptCallback(), event: 'receipt.lost' }],
  ['422 to an event of another family', 422, consentFormCallback()],
  ['422 to a field of the wrong type', 422, receiptCallback({ data: { net_amount: '12' } })],
  ['422 to text that PostgreSQL cannot store', 422, receiptCallback({ data: { name: 'a\0b' } })],
  ['413 to a body over the limit', 413, receiptCallback({ data: { name: 'x'.repeat(10_000) } })],
])('responds %s, with a problem document, and stores no delivery', async (_, status, body) => {
  const before = await database.rows('select count(*) from deliveries');
  const response = await send(paths.receipt, body);
  expect(response.status).toBe(status);
  expect(response.type).toBe('application/problem+json');
  expect(response.body).toMatchObject({ type: 'about:blank', status, title: expect.any(String) });
  expect(await database.rows('select count(*) from deliveries')).toEqual(before);
});

it('a 422 says which field is invalid and why, never its value', async () => {
  const body = receiptCallback({ data: { net_amount: 'SECRET', mobile: 5, SECRET: 1 } });
  const response = await send(paths.receipt, { ...body, event_time: undefined });
  expect(response.body.errors).toEqual([
    { path: '/event_time', message: 'is required' },
    { path: '/data/net_amount', message: 'expected a number, got text' },
    { path: '/data/mobile', message: 'expected text, got a whole number' },
  ]);
  expect(response.text).not.toContain('SECRET');
});

const raw = (name: string, value: string) =>
  JSON.stringify(receiptCallback({ data: { receipt_id: 5, added: '#' } }))
    .replace(new RegExp(`"${name}":(?:[-\\w.]+|"#")`), `"${name}":${value}`)
    .replace('"#"', '0');

it.each(['net_amount', 'added'])(
  'stores every digit of a number that is neither an id nor a time: %s',
  async (name) => {
    const digits = '12345678901234567.123456789012345678901';
    const response = await send(paths.receipt, raw(name, digits));
    expect(response.status).toBe(200);
    const [row] = await database.rows(`select envelope #>> $2 as stored from deliveries where id = $1`, [
      response.body.id,
      ['data', name],
    ]);
    expect(row).toEqual({ stored: digits });
  },
);

it.each([
  ['receipt_id', '9007199254740993'],
  ['receipt_id', '4711.0000000000000000001'],
  ['archive', '12345678901234567890'],
  ['created_at', '1700000000.0000000000001'],
  ['event_time', '1700000000.0000000000001'],
  ['timestamp', '99999999999999999999'],
])(
  'rejects an id or a time that JavaScript cannot represent, and says what to send: %s %s',
  async (name, value) => {
    const response = await send(paths.receipt, raw(name, value));
    expect(response.status).toBe(422);
    const at = ['event_time', 'timestamp'].includes(name) ? `/${name}` : `/data/${name}`;
    expect(response.body.errors).toEqual([
      { path: at, message: 'must be a whole number from -9007199254740991 to 9007199254740991' },
    ]);
    // A number within the range of the message is accepted.
    await send(paths.receipt, raw(name, '4711')).expect(200);
  },
);

it.each([
  ['far beyond numeric', '1e200000'],
  ['too large for a double', '1e400'],
  ['too large below zero', '-1e400'],
  ['too small for a double', '1e-400'],
  ['with too many digits', `0.${'1'.repeat(8_000)}e-9000`],
])('rejects a number out of range, and stores the body in quarantine: %s', async (_, number) => {
  const body = raw('added', number);
  const response = await send(paths.receipt, body);
  expect(response.status).toBe(422);
  expect(response.body.errors).toEqual([{ path: '/data/added', message: expect.stringContaining('range') }]);
  const rows = await database.rows('select reason from quarantine where body = $1', [Buffer.from(body)]);
  expect(rows).toEqual([{ reason: 'invalid' }]);
});

it('rejects an event more than a day in the future, in either unit, and stores the body in quarantine', async () => {
  const tomorrow = Date.now() + 86_400_000;
  for (const [index, ahead] of [
    tomorrow + 60_000,
    Math.floor(tomorrow / 1000) + 60,
    99_999_999_999,
  ].entries()) {
    const body = JSON.stringify(receiptCallback({ event_time: ahead, data: { receipt_id: 600 + index } }));
    const response = await send(paths.receipt, body);
    expect(response.status).toBe(422);
    expect(response.body.errors).toEqual([
      { path: '/event_time', message: 'must not be more than a day in the future' },
    ]);
    const rows = await database.rows('select reason from quarantine where body = $1', [Buffer.from(body)]);
    expect(rows).toEqual([{ reason: 'invalid' }]);
  }
  await send(paths.receipt, receiptCallback({ event_time: tomorrow - 60_000 })).expect(200);
});

it('responds 405 with Allow, 415 and 404', async () => {
  const get = await request(app).get(paths.receipt);
  expect([get.status, get.headers.allow]).toEqual([405, 'POST']);
  const text = await request(app).post(paths.receipt).type('text/plain').send('{}');
  expect(text.status).toBe(415);
  const zipped = await send(paths.receipt, '{}').set('Content-Encoding', 'gzip');
  expect(zipped.status).toBe(415);
  const nowhere = await send('/elsewhere', '{}');
  expect([nowhere.status, nowhere.type]).toEqual([404, 'application/problem+json']);
});

it('accepts JSON with a charset and with white space around it', async () => {
  const callback = receiptCallback({ data: { receipt_id: 99 } });
  const response = await request(app)
    .post(paths.receipt)
    .set('Content-Type', 'application/json; charset=UTF-8')
    .send(`\n ${JSON.stringify(callback, null, 2)}\n`);
  expect(response.body).toEqual({ status: 'accepted', id: deliveryOf(callback).id });
});
