import fc from 'fast-check';
import { byBothClocks, createDatabaseClock } from '../../../src/receiver/store/clock.ts';
import { allowConnections } from '../../support/database.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { until } from '../../support/until.ts';

const database = useReceiverDatabase();
const dayMs = 24 * 60 * 60 * 1000;
const circuit = {};

const shiftOwnClock = (ms: number) => {
  const realNow = Date.now;
  jest.spyOn(Date, 'now').mockImplementation(() => realNow() + ms);
};
afterEach(() => jest.restoreAllMocks());

const readTime = async () => {
  const [row] = await database.rows('select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms');
  return row!.ms as number;
};

it('a fault is one only if both clocks are known and find the same', () => {
  const fault = fc.constantFrom('future', 'expired', undefined);
  fc.assert(
    fc.property(fault, fault, fc.boolean(), (own, other, isKnown) => {
      const judge = (now: number) => (now === 1 ? own : other);
      const expected = isKnown && own === other ? own : undefined;
      expect(byBothClocks(judge, 1, isKnown ? 2 : undefined)).toBe(expected);
    }),
  );
});

it('a step of this machine’s clock does not shift what is known of PostgreSQL’s', async () => {
  const clock = createDatabaseClock(database.pool, circuit);
  expect(clock.now()).toBeUndefined();
  const before = await readTime();
  await clock.refresh();
  const after = await readTime();
  for (const days of [0, -3, 3]) {
    shiftOwnClock(days * dayMs);
    const elapsed = clock.now()! - before;
    // By at most the half of a round trip.
    expect(elapsed).toBeGreaterThan(-1_000);
    jest.restoreAllMocks();
  }
  expect(clock.now()!).toBeGreaterThan(after - 1_000);
});

it('while PostgreSQL is away the last reading goes on; without one the time is not known', async () => {
  const known = createDatabaseClock(database.pool, circuit);
  const unknown = createDatabaseClock(database.pool, circuit);
  await known.refresh();
  await allowConnections(database, false);
  try {
    const before = known.now()!;
    await known.refresh();
    expect(known.now()!).toBeGreaterThan(before);
    await unknown.refresh();
    expect(unknown.now()).toBeUndefined();
  } finally {
    await allowConnections(database, true);
  }
  // Whoever asks for it later makes it known.
  const realNow = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => realNow() + 10_000);
  await until(() => unknown.now() !== undefined);
});

it('nothing is asked of PostgreSQL while its circuit is open', async () => {
  const query = jest.spyOn(database.pool, 'query');
  expect(createDatabaseClock(database.pool, { unavailableSince: new Date() }).now()).toBeUndefined();
  expect(query).not.toHaveBeenCalled();
});
