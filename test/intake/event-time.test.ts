import fc from 'fast-check';
import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { Unavailable } from '../../src/intake/delivery.ts';
import { createIntake, faultOfTime } from '../../src/intake/intake.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { EventInFuture } from '../../src/intake/rejections.ts';
import { createDatabaseClock } from '../../src/receiver/store/clock.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';

const log = createLog('silent');
const database = useDatabase();
const dayMs = 24 * 60 * 60 * 1000;
const [receipt] = families;

afterEach(() => jest.restoreAllMocks());

/** @param days how far this process's clock is ahead of PostgreSQL's */
function shiftOwnClock(days: number) {
  const realNow = Date.now;
  jest.spyOn(Date, 'now').mockImplementation(() => realNow() + days * dayMs);
}

function openIntake({ isAway = false } = {}) {
  const config = { ...parseConfig({}, families), retention: { receipt: 2 * dayMs } };
  const { pool } = database;
  const circuit = databaseCircuit(pool, { log });
  const clock = createDatabaseClock(pool, { isOpen: isAway });
  return createIntake({ config, families, pool, circuit, clock, log });
}

let receiptId = 0;
/** A receipt of some days before or after PostgreSQL's time. */
const bodyOf = (days: number) => {
  const event_time = Math.floor((performance.timeOrigin + performance.now()) / 1000 + days * 86_400);
  return Buffer.from(JSON.stringify(receiptCallback({ event_time, data: { receipt_id: ++receiptId } })));
};

it('an event is in the future if it is more than a day ahead, and expired if it is older than its retention', () => {
  const ms = fc.integer({ min: 0, max: 4e12 });
  fc.assert(
    fc.property(
      ms,
      ms,
      fc.option(fc.integer({ min: 0, max: 1e12 }), { nil: undefined }),
      (event, now, kept) => {
        const expected =
          event - now > dayMs ? 'future' : now - event > (kept ?? Infinity) ? 'expired' : undefined;
        expect(faultOfTime(event, now, kept)).toBe(expected);
      },
    ),
  );
});

it.each([
  // This process's clock; the event's time; both in days, from PostgreSQL's time on.
  [-3, 0, 'accepted'],
  [-3, 0.9, 'accepted'],
  [-3, 1.1, 'future'],
  [-3, -3, 'accepted'],
  [-3, -5.1, 'expired'],
  [3, 0, 'accepted'],
  [3, 2, 'accepted'],
  [3, 4.1, 'future'],
  [3, -1.9, 'accepted'],
  [3, -2.1, 'expired'],
  [0, 1.1, 'future'],
  [0, -2.1, 'expired'],
  // Too late by one clock, and too early by the other.
  [-9, -4, 'accepted'],
])(
  'with a clock that is %d days ahead, an event of %d days ahead is %s: received, replayed and drained',
  async (own, event, expected) => {
    shiftOwnClock(own);
    const intake = openIntake();
    const isFuture = expected === 'future';
    const body = bodyOf(event);
    const received = intake.receive(body, { family: receipt, path: paths.receipt });
    if (isFuture) await expect(received).rejects.toThrow(EventInFuture);
    else expect(await received).toMatchObject({ status: expected });

    const outcome = isFuture ? 'rejected' : expected;
    for (const dryRun of [true, false]) {
      expect(await intake.replay(bodyOf(event), '/p', { dryRun })).toMatchObject({ outcome });
    }

    const { id } = (await intake.replay(bodyOf(0), '/p', { dryRun: true })) as { id: string };
    const acknowledged = bodyOf(event);
    const time = JSON.parse(acknowledged.toString()).event_time * 1000;
    const drained = `${time.toString(16).padStart(12, '0').replace(/.{8}/, '$&-')}${id.slice(13)}`;
    await intake.drain({ id: drained, family: 'receipt', body: acknowledged });
    const rows = await database.rows('select from inbox where id = $1', [drained]);
    const parked = await database.rows('select acknowledged, errors from quarantine where delivery_id = $1', [
      drained,
    ]);
    expect(rows).toHaveLength(expected === 'accepted' ? 1 : 0);
    const errors = [{ path: '/event_time', message: 'must not be more than a day in the future' }];
    expect(parked).toEqual(isFuture ? [{ acknowledged: true, errors }] : []);
  },
);

it('while PostgreSQL’s clock is not known, what this one refuses is neither refused nor stored unjudged', async () => {
  shiftOwnClock(-3);
  const intake = openIntake({ isAway: true });
  const route = { family: receipt, path: paths.receipt };
  await expect(intake.receive(bodyOf(0), route)).rejects.toThrow(Unavailable);
  await expect(intake.replay(bodyOf(0), '/p', { dryRun: false })).rejects.toThrow(Unavailable);
  expect(await intake.receive(bodyOf(-3), route)).toMatchObject({ status: 'accepted' });
});
