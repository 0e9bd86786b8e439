import { rateLimit } from '../common/rate-limit.ts';
import type { Config } from '../config/config.ts';
import { connectRedis } from '../queue/redis.ts';
import { keyPrefix } from '../queue/redis-backend.ts';
import type { OnStop } from './open-stores.ts';

export type Limits = ReturnType<typeof openLimits>;

/** How often something may happen; receivers count together where there is Redis. */
export function openLimits(config: Config, onStop: OnStop) {
  const { requestsPerSecond, rejectionsPerMinute } = config.limits;
  const redis = config.redisUrl ? connectRedis(config.redisUrl, 'producer') : undefined;
  redis?.on('error', () => {}); // without Redis, each process counts in memory
  onStop(async () => redis?.disconnect());
  const prefix = keyPrefix(config.queuePrefix);
  const failures = (name: string) => rateLimit(`${prefix}:${name}`, { points: 10, durationS: 300 }, redis);
  return {
    requests: requestsPerSecond
      ? rateLimit(`${prefix}:requests`, { points: requestsPerSecond, durationS: 1 }, redis)
      : undefined,
    rejections: rateLimit(`${prefix}:rejections`, { points: rejectionsPerMinute, durationS: 60 }, redis),
    // Apart, so that wrong tokens of one kind use up no attempts of another.
    signIns: { 'admin token': failures('sign-ins'), 'identity provider': failures('provider-sign-ins') },
    adminTokens: failures('admin-tokens'),
    scrapes: failures('scrapes'),
    searches: rateLimit(`${prefix}:searches`, { points: 30, durationS: 60 }, redis),
  };
}
