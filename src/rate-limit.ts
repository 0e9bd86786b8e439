import type { Cluster, Redis } from 'ioredis';

/** Raised where a source has used up what it may. */
export class TooManyRequests extends Error {
  readonly retryAfterS: number;
  constructor(retryAfterS: number) {
    super('Too many requests came from this address.');
    this.name = 'TooManyRequests';
    this.retryAfterS = retryAfterS;
  }
}

export interface RateLimit {
  /** @throws TooManyRequests if the source has used up what it may */
  check: (source: string) => void;
  /** Counts something against a source. */
  count: (source: string) => void;
}

interface Period {
  count: number;
  /** By the monotonic clock: a clock that is set right must neither end a period nor prolong it. */
  endsAt: number;
}

const maxSources = 10_000;

// By Redis's clock, which may be set too: what is left is bounded by whoever asks.
const countInRedis = `
local count = redis.call('incr', KEYS[1])
if count == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) end
return {count, redis.call('pttl', KEYS[1])}`;

/**
 * A limit on how often something may happen per source and period. Each process counts by itself; where
 * there is Redis, receivers share the count through it. The answer never waits for that, so a source may be
 * a moment late to be stopped.
 *
 * @param name a part of its keys in Redis
 * @param points how often in a period; who comes more often waits until it is over
 */
export function rateLimit(
  name: string,
  { points, durationS }: { points: number; durationS: number },
  redis: Redis | Cluster | undefined,
): RateLimit {
  const durationMs = durationS * 1000;
  const periods = new Map<string, Period>();
  const periodOf = (source: string): Period | undefined => {
    const period = periods.get(source);
    if (!period || performance.now() < period.endsAt) return period;
    periods.delete(source);
    return undefined;
  };
  const begin = (source: string): Period => {
    const [first] = periods.keys();
    // The one that began first is the next to end.
    if (periods.size >= maxSources) periods.delete(first!);
    const period = { count: 0, endsAt: performance.now() + durationMs };
    periods.set(source, period);
    return period;
  };
  return {
    check: (source) => {
      const period = periodOf(source);
      if (!period || period.count <= points) return;
      throw new TooManyRequests(Math.ceil((period.endsAt - performance.now()) / 1000));
    },
    count: (source) => {
      const period = periodOf(source) ?? begin(source);
      period.count += 1;
      redis?.eval(countInRedis, 1, `${name}:${source}`, durationMs).then(
        (reply) => {
          const [shared, leftMs] = reply as [number, number];
          if (shared <= points) return;
          period.count = Math.max(period.count, shared);
          period.endsAt = performance.now() + Math.min(leftMs, durationMs);
        },
        () => {}, // Redis is away: what this process counts has to do
      );
    },
  };
}
