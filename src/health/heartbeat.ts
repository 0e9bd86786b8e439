import { uptime } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Log, throttled } from '../common/log.ts';
import { type Circuit, StoreUnavailable } from '../receiver/store/circuit.ts';
import { toleratedMs, type Uptime } from '../store/uptime.ts';

const everyMs = 60_000;

interface HeartbeatDependencies {
  /** PostgreSQL's. */
  circuit: Pick<Circuit, 'isOpen' | 'probeAfter'>;
  /** Whether the fallback store accepts callbacks. */
  fallbackAccepts: () => Promise<boolean>;
  /** Ends within some seconds; see recordUptime. */
  record: (time: Uptime) => Promise<number>;
  /** Milliseconds. Nobody sets it, and it goes on while the machine is suspended. */
  clock?: () => number;
}

/** By the clock of this process. */
interface Interval {
  from: number;
  until: number;
  recorded?: number;
}

/**
 * Creates the heartbeat of a receiver: a function that notes that callbacks are accepted now. While PostgreSQL is unavailable
 * and Redis accepts, the times are held in memory, and recorded afterwards.
 *
 * @throws (the function) an error of PostgreSQL while it is available; the beat is recorded with the next
 */
export function createHeartbeat({
  circuit,
  fallbackAccepts,
  record,
  clock = () => uptime() * 1000,
}: HeartbeatDependencies): () => Promise<void> {
  let held: readonly Interval[] = [];

  /** @returns what the next beat continues */
  const recordAll = async (intervals: readonly Interval[]): Promise<readonly Interval[]> => {
    let last: readonly Interval[] = [];
    for (const { from, until, recorded } of intervals) {
      const now = clock();
      const time = { fromMs: now - from, untilMs: now - until, recorded };
      last = [{ from: until, until, recorded: await record(time) }];
    }
    return last;
  };

  return async () => {
    const intervals = extend(held, clock());
    try {
      if (circuit.isOpen) throw new StoreUnavailable('PostgreSQL');
      held = await recordAll(intervals);
    } catch (error) {
      const isAway = await circuit.probeAfter(error);
      if (!isAway || (await fallbackAccepts())) held = intervals;
      if (!isAway) throw error;
    }
  };
}

/** Adds a beat: to the last interval, unless too much time has passed. */
function extend(intervals: readonly Interval[], now: number): readonly Interval[] {
  const last = intervals.at(-1);
  if (last && now - last.until <= toleratedMs) return [...intervals.slice(0, -1), { ...last, until: now }];
  // What is wholly recorded stays where it is: by a clock that was set since, it would be elsewhere.
  const held = intervals.filter(({ from, until, recorded }) => recorded === undefined || from < until);
  return [...held, { from: now, until: now }];
}

/** Runs a heartbeat once a minute, and at the stop. */
export function startHeartbeat(beat: () => Promise<void>, log: Log) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const report = throttled((more, err) => log.warn({ err, ...more }, 'the heartbeat could not be recorded'));
  const beating = (async () => {
    while (!signal.aborted) {
      await beat().catch(report);
      await sleep(everyMs, undefined, { ref: false, signal }).catch(() => {});
    }
    await beat().catch(report);
  })();
  return {
    stop: async () => {
      stopping.abort();
      await beating;
    },
  };
}
