import type { RedisClient } from './redis.ts';

export type RedisDurability = Awaited<ReturnType<typeof readDurability>>;

/**
 * Reads the settings of persistence and eviction: how durable an acknowledged write to Redis is.
 *
 * @param key of the deliveries that wait in Redis: of a Redis Cluster, the node with this key is read
 * @returns `version`: of Redis, undefined: it may not be read; `confirmsDisk`: WAITAOF confirms that a write is on disk, with Redis 7.2 or newer and appendonly; `safe`: no
 *   delivery can be lost; `detail`: the consequence for those deliveries; `fixes`: the commands that make it so, none where the
 *   settings cannot be read; `keepsLog`: Redis keeps a log of commands, with what was deleted, undefined: unknown
 * @throws Redis's error while it is unavailable; a setting without read permission is unknown
 */
export async function readDurability(client: RedisClient, key: string) {
  const names = ['appendonly', 'appendfsync', 'maxmemory-policy'];
  const pipeline = client.pipeline().exists(key).info('server');
  for (const name of names) pipeline.call('CONFIG', 'GET', name);
  const [exists, info, ...settings] = (await pipeline.exec()) ?? [];
  if (!exists || exists[0]) throw exists?.[0] ?? new Error('Redis dropped the pipeline.');
  const version = /redis_version:(\S+)/.exec(String(info?.[1] ?? ''))?.[1];
  const [major = 0, minor = 0] = version?.split('.').map(Number) ?? [];
  const isNew = major * 100 + minor >= 702;
  const [appendOnly, sync, policy] = settings.map(([error, response], index) => {
    // A managed Redis may not permit CONFIG.
    if (error || typeof response !== 'object' || response === null) return undefined;
    return Array.isArray(response)
      ? (response[1] as string | undefined)
      : (response as Record<string, string>)[names[index]!];
  });
  if (appendOnly === undefined) {
    return {
      version,
      confirmsDisk: false,
      safe: false,
      fixes: [] as string[],
      keepsLog: undefined,
      detail: 'its settings cannot be read: appendonly must be yes, and appendfsync always',
    };
  }
  const risks: string[] = [];
  const fixes: string[] = [];
  // With `no` the operating system decides when to write, and Redis never confirms.
  const confirmsDisk = appendOnly === 'yes' && isNew && sync !== 'no';
  if (appendOnly !== 'yes') {
    risks.push('appendonly is off: deliveries that wait here are lost when Redis restarts');
    fixes.push('CONFIG SET appendonly yes', 'CONFIG SET appendfsync always');
  } else if (!confirmsDisk && sync !== 'always') {
    const loss = sync === 'no' ? 'some' : 'the last second';
    risks.push(`appendfsync is ${sync}: a crash of Redis may lose ${loss} of the deliveries that wait here`);
    fixes.push('CONFIG SET appendfsync always');
  }
  if (policy !== 'noeviction') {
    risks.push(`maxmemory-policy is ${policy}: a full Redis may drop deliveries that wait here`);
    fixes.push('CONFIG SET maxmemory-policy noeviction');
  }
  const slow = sync === 'everysec' ? ', up to a second: appendfsync always is faster' : '';
  const good = confirmsDisk ? `each waits for the disk (WAITAOF)${slow}` : 'appendfsync is always';
  return {
    version,
    confirmsDisk,
    keepsLog: appendOnly === 'yes',
    safe: risks.length === 0,
    detail: risks.join('; ') || good,
    fixes,
  };
}
