import type { Cluster, Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { TooManyRequests } from './errors.ts';

export interface RateLimit {
  /** @throws TooManyRequests if the source has used up what it may */
  check: (source: string) => void;
  /** Counts something against a source. */
  count: (source: string) => void;
}

/**
 * A limit on how often something may happen per source and period. Receivers share the count through Redis
 * where there is one; the answer never waits for it, so a source may be a moment late to be stopped.
 */
export function rateLimit(
  name: string,
  { points, durationS }: { points: number; durationS: number },
  redis: Redis | Cluster | undefined,
): RateLimit {
  const memory = new RateLimiterMemory({ keyPrefix: name, points, duration: durationS });
  const limiter = redis
    ? new RateLimiterRedis({
        storeClient: redis,
        keyPrefix: `{receiver}:${name}`,
        points,
        duration: durationS,
        insuranceLimiter: memory,
      })
    : memory;
  const stopped = new Map<string, number>();
  return {
    check: (source) => {
      const until = stopped.get(source);
      if (until === undefined) return;
      const left = until - Date.now();
      if (left > 0) throw new TooManyRequests(Math.ceil(left / 1000));
      stopped.delete(source);
    },
    count: (source) => {
      limiter.consume(source).catch((refusal: unknown) => {
        // Anything else is Redis being away, which the limiter in memory stands in for.
        if (!(refusal instanceof RateLimiterRes)) return;
        if (stopped.size > 10_000) stopped.clear();
        stopped.set(source, Date.now() + refusal.msBeforeNext);
      });
    },
  };
}
