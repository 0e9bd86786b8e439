import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { replayDeliveries } from '../../src/apply/replay.ts';
import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { type Family, families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { createIntake } from '../../src/intake/intake.ts';
import { createParser } from '../../src/intake/parse-callback.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { requeue } from '../../src/intake/requeue.ts';
import { redactRejected } from '../../src/intake/secrets.ts';
import { subjectOfBody } from '../../src/intake/subject-of-body.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { createFallbackStream } from '../../src/queue/fallback-stream.ts';
import { connectRedis } from '../../src/queue/redis.ts';
import { drain } from '../../src/worker/drain.ts';
import { paths, receiptData, samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { clear, erasureTables } from '../support/deliveries.ts';
import { startRedis } from '../support/redis.ts';
import { post, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const database = useDatabase();
const { start } = useService({ on: database });
beforeEach(() => clear(database, ...erasureTables));

/** What says nothing, in all spellings. */
const nothings = [0, -1, 946_684_799_999, '0001-01-01T00:00:00Z', null, ' \t'];

const dayS = 86_400;
const nowS = () => Math.floor(Date.now() / 1000);
const iso = (seconds: number) => new Date(seconds * 1000).toISOString();

let receiptId = 0;
/** A new receipt whose `event_time` says nothing; its data has no time but these. */
const receipt = ({ data = {}, ...envelope }: { data?: object; [name: string]: unknown } = {}) => {
  const { created_at, updated_at, ...untimed } = receiptData;
  const { timestamp, ...rest } = samples.receipt();
  return { ...rest, event_time: 0, ...envelope, data: { ...untimed, receipt_id: ++receiptId, ...data } };
};

/** @returns the status of the response, and of what it says */
async function send(url: string, callback: object, path = paths.receipt) {
  const response = await post(url + path, callback);
  const { status, errors } = (await response.json()) as { status: unknown; errors?: object[] };
  return response.ok ? status : { status, errors };
}

const inbox = () => database.rows('select id, event, event_time, envelope from inbox order by event_time');
const times = async () => (await inbox()).map(({ event_time }) => (event_time as Date).toISOString());
const idTime = (id: unknown) => Number.parseInt(String(id).replace('-', '').slice(0, 12), 16);

function openIntake() {
  const { pool } = database;
  const config = parseConfig({}, families);
  return createIntake({ config, families, pool, circuit: databaseCircuit(pool, { log }), log });
}

describe.each(nothings)('an event_time of %j', (event_time) => {
  it('is the time of the record’s change, in the id and in inbox, and stays as it came; a resend is a duplicate', async () => {
    const { url } = await start();
    const [changed, sent] = [nowS() - 500, nowS() - 100];
    const callback = receipt({
      event: 'receipt.updated',
      event_time,
      timestamp: sent,
      data: { created_at: changed - dayS, updated_at: changed * 1000 + 5 },
    });
    expect(await send(url, callback)).toBe('accepted');
    expect(await send(url, { ...callback, timestamp: sent + 7 })).toBe('duplicate');
    const [row] = await inbox();
    expect(row).toMatchObject({ envelope: callback, event_time: new Date(changed * 1000 + 5) });
    expect(idTime(row!.id)).toBe(changed * 1000 + 5);
  });

  it('is else that of timestamp, and else gets 422 and lies in quarantine', async () => {
    const { url } = await start();
    const [sent, data] = [nowS() - 100, { updated_at: 0, created_at: '0001-01-01T00:00:00Z' }];
    expect(await send(url, receipt({ event_time, timestamp: sent, data }))).toBe('accepted');
    expect(await times()).toEqual([iso(sent)]);
    const path = '/event_time';
    const message = 'must be a time from 2000 on';
    const refused = receipt({ event_time, timestamp: 0, data });
    expect(await send(url, refused)).toEqual({ status: 422, errors: [{ path, message }] });
    const rows = await database.rows('select body, errors from quarantine');
    expect(rows.map(({ body }) => JSON.parse(String(body)))).toEqual([refused]);
    expect(rows[0]!.errors).toEqual([{ path, message }]);
  });
});

it('without its key event_time is required, whatever the other times', async () => {
  const { url } = await start();
  const { event_time, ...callback } = receipt({ timestamp: nowS(), data: { updated_at: nowS() } });
  const errors = [{ path: '/event_time', message: 'is required' }];
  expect(await send(url, callback)).toEqual({ status: 422, errors });
});

it('text that is no time is refused, whatever the other times', async () => {
  const { url } = await start();
  for (const event_time of ['0', 'now', '2026-06-30', 0.5, false, []]) {
    const callback = receipt({ event_time, timestamp: nowS(), data: { updated_at: nowS() } });
    expect(await send(url, callback)).toMatchObject({ status: 422, errors: [{ path: '/event_time' }] });
  }
});

it('the first moment of 2000 is a time, in seconds, milliseconds and ISO 8601', async () => {
  const { url } = await start();
  for (const event_time of [946_684_800, 946_684_800_000, '2000-01-01T05:30:00+05:30'])
    expect(await send(url, receipt({ event_time, data: { updated_at: nowS() } }))).toBe('accepted');
  expect(await times()).toEqual(Array(3).fill('2000-01-01T00:00:00.000Z'));
});

it('a derived time more than a day ahead is refused like an event_time', async () => {
  const { url } = await start();
  const errors = [{ path: '/event_time', message: 'must not be more than a day in the future' }];
  for (const [ahead, expected] of [
    [0.9, 'accepted'],
    [1.1, { status: 422, errors }],
  ] as const) {
    const time = nowS() + ahead * dayS;
    expect(await send(url, receipt({ timestamp: time }))).toEqual(expected);
    expect(await send(url, receipt({ event: 'receipt.updated', data: { updated_at: time } }))).toEqual(
      expected,
    );
  }
});

it('the creation time counts for the event that creates the record, and for no later one', async () => {
  const { url } = await start();
  const [created, sent] = [nowS() - 30 * dayS, nowS()];
  for (const event of ['receipt.created', 'receipt.updated'])
    expect(await send(url, receipt({ event, timestamp: sent, data: { created_at: created } }))).toBe(
      'accepted',
    );
  expect(await times()).toEqual([iso(created), iso(sent)]);
});

it('an event that no family lists has the time of its timestamp alone', async () => {
  const { url } = await start();
  const callback = { event: 'lab.ready', event_time: '', business_id: 'b', data: { updated_at: nowS() - 9 } };
  expect(await send(url, callback, paths.other)).toMatchObject({ status: 422 });
  const sent = nowS();
  expect(await send(url, { ...callback, timestamp: sent }, paths.other)).toBe('accepted');
  expect(await times()).toEqual([iso(sent)]);
});

it.each(nothings)(
  'with event_type for event and an event_time of %j, a callback is applied',
  async (event_time) => {
    const { url } = await start();
    const { event, ...callback } = receipt({ event_time, data: { updated_at: nowS() - 9 } });
    expect(await send(url, { ...callback, event_type: event })).toBe('accepted');
    expect(await inbox()).toMatchObject([{ event, envelope: { event_type: event } }]);
    await until(async () => (await database.rows('select from receipts')).length === 1);
    const other = { ...callback, event_type: 'lab.ready', timestamp: nowS() };
    expect(await send(url, other, paths.other)).toBe('accepted');
  },
);

it('the example of the document has the event time that it says', () => {
  const document = readFileSync('docs/callbacks.md', 'utf8');
  const [, said, example] = /event\s+time is ([\d-]+ [\d:]+) UTC:\s+```json\n(.*?)```/s.exec(document)!;
  expect(idTime(createParser(families)(Buffer.from(example!)).id)).toBe(Date.parse(`${said}Z`));
});

describe('a deletion whose event_time says nothing deletes', () => {
  it.each([
    ['with a change time after its create', { updated_at: nowS() - 100 }, undefined],
    ['with the change time of its create', { updated_at: nowS() - 204 }, nowS() - 100],
    ['with its timestamp alone', {}, nowS() - 100],
    ['with the creation time, too', { created_at: nowS() - 204 }, nowS() - 100],
  ])('%s', async (_, data, timestamp) => {
    const { url } = await start();
    const created = receipt({ event_time: nowS() - 200, data: { updated_at: nowS() - 204 } });
    const { receipt_id } = created.data;
    expect(await send(url, created)).toBe('accepted');
    const deletion = receipt({ event: 'receipt.deleted', timestamp, data: { ...data, receipt_id } });
    expect(await send(url, deletion)).toBe('accepted');
    const deleted = 'select deleted_at from receipts where deleted_at is not null';
    await until(async () => (await database.rows(deleted)).length === 1);
    const [{ deleted_at }] = (await database.rows(deleted)) as [{ deleted_at: Date }];
    const [, last] = await inbox();
    expect(deleted_at).toEqual(last!.event_time);
  });
});

it('with a retention such a callback is expired by its derived time alone', async () => {
  const { url } = await start({ retention: { receipt: 30 * dayS * 1000 } });
  for (const event_time of nothings)
    expect(await send(url, receipt({ event_time, timestamp: nowS() }))).toBe('accepted');
  expect(await send(url, receipt({ timestamp: nowS() - 31 * dayS }))).toBe('expired');
});

describe('after an erasure of the patient', () => {
  const patient = receiptData.patient_oid;
  /** Later than the erasure. */
  const later = () => nowS() + 60;
  beforeEach(async () => {
    const { url } = await start();
    expect(await send(url, receipt({ event_time: nowS() - 100 }))).toBe('accepted');
    const options = { actor: { id: 'tester' }, keepMs: dayS * 1000 };
    await erasePatient(database.db, families, { id: patient }, options);
  });

  it.each(nothings)('an event_time of %j makes nothing erased; the derived time does', async (event_time) => {
    const { url } = await start();
    const before = { updated_at: nowS() - 50 };
    expect(await send(url, receipt({ event: 'receipt.updated', event_time, data: before }))).toBe('erased');
    expect(await send(url, receipt({ event_time, timestamp: later() }))).toBe('accepted');
    const words = { event: 'lab.ready', event_time, business_id: 'b', data: { about: patient } };
    expect(await send(url, { ...words, timestamp: later() }, paths.other)).toBe('accepted');
  });

  it('a rejected body of a later time is kept in quarantine, and one of an earlier is not', async () => {
    const { url } = await start();
    const data = { net_amount: 'much' };
    for (const timestamp of [later(), nowS() - 50])
      expect(await send(url, receipt({ timestamp, data }))).toMatchObject({ status: 422 });
    expect(await database.rows('select from quarantine')).toHaveLength(1);
  });

  it('one that lost its state becomes pending again', async () => {
    const parse = createParser(families);
    const body = Buffer.from(JSON.stringify(receipt({ timestamp: later() })));
    const { id, family } = parse(body);
    await insertDeliveries(database.pool, [{ id, family: family.name, body }]);
    await database.rows('delete from pending_deliveries');
    expect(await requeue(database.db, families, [id])).toMatchObject({ pending: [{ id }], refused: [] });
  });
});

describe('the time is the same', () => {
  const updated = nowS() - 77;
  const late = () => receipt({ event: 'receipt.updated', event_time: null, data: { updated_at: updated } });
  /** As the fallback store has it. */
  const deliveryOf = (callback: object) => {
    const body = Buffer.from(JSON.stringify(callback));
    const { id, family } = createParser(families)(body);
    return { id, family: family.name, body };
  };

  it('through the fallback store in Redis', async () => {
    const redis = await startRedis();
    const client = connectRedis(redis.url, 'producer');
    try {
      await until(() => client.status === 'ready');
      const fallback = createFallbackStream({
        redis: client,
        prefix: '{receiver}',
        databaseUrl: database.url,
        db: database.db,
        databaseId: Promise.resolve(randomUUID()),
        log,
      });
      await fallback.append([deliveryOf(late())]);
      const intake = openIntake();
      await until(async () => (await drain(fallback, intake, 256 * 1024)) > 0);
      expect(await times()).toEqual([iso(updated)]);
    } finally {
      client.disconnect();
      await redis.stop();
    }
  });

  it('from the table of spilled deliveries', async () => {
    expect(await openIntake().drain(deliveryOf(late()), { isSpilled: true })).toBe(true);
    expect(await times()).toEqual([iso(updated)]);
  });

  it('from the quarantine, also where its secrets were redacted', async () => {
    const intake = openIntake();
    expect(await intake.replay(Buffer.from(JSON.stringify(late())), '/p', { dryRun: false })).toMatchObject({
      outcome: 'accepted',
    });
    const secret = { ...samples.health_account(), event_time: null, timestamp: updated };
    const original = Buffer.from(JSON.stringify({ ...secret, data: { ...secret.data, token: '123456' } }));
    const { body, deliveryId } = redactRejected(original);
    expect(deliveryId).toBe(deliveryOf(JSON.parse(String(original))).id);
    const timeless = Buffer.from(
      JSON.stringify({ ...secret, event_time: 0, timestamp: 0, data: { token: 1 } }),
    );
    expect(redactRejected(timeless).deliveryId).toBeNull();
    expect(await intake.replay(body, '/p', { dryRun: false, deliveryId })).toMatchObject({
      outcome: 'accepted',
    });
    expect(await times()).toEqual([iso(updated), iso(updated)]);
  });

  it('when it is applied, and replayed', async () => {
    const delivery = deliveryOf(late());
    await insertDeliveries(database.pool, [delivery]);
    await applyDeliveries(database.db, families, [delivery.id]);
    const row = async () => (await database.rows('select event_time, deleted_at from receipts'))[0];
    const first = await row();
    expect(first).toMatchObject({ event_time: new Date(updated * 1000) });
    await replayDeliveries(database.db, families, { status: 'applied' }, { dryRun: false });
    expect(await row()).toEqual(first);
  });

  it('in every family, also where the id has to be made of the parsed body', () => {
    const parse = createParser(families);
    for (const family of families as readonly Family[]) {
      const { name, orderedBy } = family;
      const { data, ...envelope } = samples[name as keyof typeof samples]();
      const timed = { ...data, created_at: undefined, ...(orderedBy && { [orderedBy]: updated }) };
      const callback = { ...envelope, event_time: '', timestamp: orderedBy ? 0 : updated, data: timed };
      const [plain, escaped] = [callback, { ...callback, note: '"' }].map(
        (one) => parse(Buffer.from(JSON.stringify(one)), family).id,
      );
      expect(idTime(plain)).toBe(updated * 1000);
      expect(escaped).toBe(plain);
    }
  });

  it('of a rejected body, however it is read', () => {
    for (const event_time of nothings) {
      const body = JSON.stringify(receipt({ event_time, timestamp: updated, data: { net_amount: 'much' } }));
      const { eventTime } = subjectOfBody(Buffer.from(body), families);
      expect(eventTime).toBe(updated * 1000);
    }
    const none = JSON.stringify({ ...receipt(), event_time: undefined, timestamp: updated });
    expect(subjectOfBody(Buffer.from(none), families).eventTime).toBeNull();
  });
});
