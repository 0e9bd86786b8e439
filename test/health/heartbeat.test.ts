import fc from 'fast-check';
import { sql } from 'kysely';
import { createHeartbeat } from '../../src/health/heartbeat.ts';
import { recordUptime, toleratedMs } from '../../src/store/uptime.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
beforeEach(() => database.rows('truncate uptime'));

const minute = 60_000;
const day = 24 * 60 * minute;

type Act =
  | { do: 'wait'; ms: number }
  | { do: 'start' | 'stop' | 'crash' | 'suspend' | 'resume'; receiver: number }
  | { do: 'set store'; store: 'database' | 'redis'; works: boolean }
  | { do: 'set clock'; byMs: number }
  | { do: 'crash all' };

interface Beat {
  at: number;
  /** Recorded after the database's clock was last set. */
  isNew: boolean;
}

/** Receivers, stores and clocks. The outages that must be found follow from each single beat. */
function simulate() {
  // In the past, so that an outage has ended for the view.
  const clock = { ms: Date.now() - 30 * day, offsetMs: 0 };
  const works = { database: true, redis: true };
  const running = new Map<number, ReturnType<typeof startOne>>();
  const recorded: Beat[] = [];
  let firstSinceSet: number | undefined;
  const now = () => clock.ms + clock.offsetMs;

  function startOne() {
    let held: number[] = [];
    const beat = createHeartbeat({
      circuit: {
        get isOpen() {
          return !works.database;
        },
        probeAfter: async () => !works.database,
      },
      fallbackAccepts: async () => works.redis,
      record: (time) => recordUptime(database.db, time, sql`${new Date(now()).toISOString()}::timestamptz`),
      // Such as the time since the start of its machine.
      clock: () => clock.ms - 5_000_000,
    });
    return {
      isSuspended: false,
      nextAt: clock.ms,
      beat: async () => {
        await beat();
        if (works.database || works.redis) held.push(clock.ms);
        if (!works.database) return;
        recorded.push(...held.map((at) => ({ at, isNew: true })));
        held = [];
        firstSinceSet ??= now();
      },
    };
  }

  async function wait(ms: number) {
    const end = clock.ms + ms;
    for (;;) {
      const due = [...running.values()].filter(({ isSuspended, nextAt }) => !isSuspended && nextAt <= end);
      const [next] = due.toSorted((a, b) => a.nextAt - b.nextAt);
      if (!next) break;
      clock.ms = Math.max(clock.ms, next.nextAt);
      await next.beat();
      next.nextAt = clock.ms + minute;
    }
    clock.ms = end;
  }

  async function act(what: Act): Promise<void> {
    if (what.do === 'wait') return wait(what.ms);
    if (what.do === 'set store') {
      works[what.store] = what.works;
    } else if (what.do === 'set clock') {
      clock.offsetMs += what.byMs;
      firstSinceSet = undefined;
      for (const beat of recorded) beat.isNew = false;
    } else if (what.do === 'crash all') {
      running.clear();
    } else if (what.do === 'start') {
      if (!running.has(what.receiver)) running.set(what.receiver, startOne());
    } else {
      const one = running.get(what.receiver);
      if (what.do === 'stop' && one && !one.isSuspended) await one.beat();
      if (what.do === 'stop' || what.do === 'crash') running.delete(what.receiver);
      else if (one) one.isSuspended = what.do === 'suspend';
    }
  }

  return {
    act,
    /** Those that began after the clock was last set. */
    expected: () => {
      const beats = recorded.filter(({ isNew }) => isNew).map(({ at }) => at + clock.offsetMs);
      const sorted = beats.filter((at) => at >= (firstSinceSet ?? 0)).toSorted((a, b) => a - b);
      return sorted
        .slice(1)
        .map((until, i) => [sorted[i]!, until])
        .filter(([from, until]) => until! - from! > toleratedMs);
    },
    found: async () => {
      const rows = await database.rows('select from_at, until_at from reporting.outages order by from_at');
      return rows
        .map((row) => [row.from_at as Date, row.until_at as Date].map((at) => at.getTime()))
        .filter(([from]) => firstSinceSet !== undefined && from! >= firstSinceSet);
    },
  };
}

const wait = fc.record({
  do: fc.constant('wait' as const),
  ms: fc.integer({ min: 1_000, max: 15 * minute }),
});
const some = (receiver: number) =>
  fc.record({
    do: fc.constantFrom('start', 'start', 'start', 'start', 'stop', 'crash', 'suspend', 'resume'),
    receiver: fc.constant(receiver),
  });
const store = (name: 'database' | 'redis') =>
  fc.record({
    do: fc.constant('set store'),
    store: fc.constant(name),
    works: fc.constantFrom(true, true, false),
  });
const setClock = fc.record({
  do: fc.constant('set clock' as const),
  byMs: fc.integer({ min: -90 * minute, max: 90 * minute }),
});
const crash = fc.constant({ do: 'crash all' });
const acts = (...other: fc.Arbitrary<unknown>[]) =>
  fc.array(fc.oneof(wait, wait, ...other) as fc.Arbitrary<Act>, {
    minLength: 10,
    maxLength: 40,
    size: 'max',
  });
const runs = { numRuns: 20 };

const outage: Act[] = [
  { do: 'wait', ms: 5 * minute },
  { do: 'crash all' },
  { do: 'wait', ms: 10 * minute },
  { do: 'start', receiver: 0 },
  { do: 'wait', ms: 5 * minute },
];

it('any starts, stops, crashes and outages of stores, and a clock that is set: the outages are the gaps between beats', async () => {
  const before = acts(some(0), some(0), some(1), some(1), crash, store('database'), store('redis'));
  let outages = 0;
  await fc.assert(
    fc.asyncProperty(before, fc.option(setClock), before, async (first, set, second) => {
      await database.rows('truncate uptime');
      const world = simulate();
      await world.act({ do: 'start', receiver: 0 });
      for (const one of [...first, ...(set ? [set] : []), ...second]) await world.act(one);
      expect(await world.found()).toEqual(world.expected());
      outages += world.expected().length;
    }),
    { ...runs, examples: [[outage, null, []]] },
  );
  expect(outages).toBeGreaterThan(0);
});

it('while one receiver always accepts callbacks in some store, there is no outage, however the clock is set', async () => {
  await fc.assert(
    fc.asyncProperty(acts(some(1), some(1), some(2), store('database'), setClock), async (sequence) => {
      await database.rows('truncate uptime');
      const world = simulate();
      await world.act({ do: 'start', receiver: 0 });
      await world.act({ do: 'wait', ms: 1_000 });
      for (const one of sequence) {
        await world.act(one);
        // It has to notice: two changes within a minute, with a stop of another receiver in between, look like an outage.
        if (one.do === 'set clock') {
          await world.act({ do: 'set store', store: 'database', works: true });
          await world.act({ do: 'wait', ms: minute });
        }
      }
      await world.act({ do: 'set store', store: 'database', works: true });
      await world.act({ do: 'wait', ms: minute });
      expect(await database.rows('select from_at, until_at from reporting.outages')).toEqual([]);
    }),
    runs,
  );
});
