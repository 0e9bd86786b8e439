import type { RedisClient } from './redis.ts';

/** What a Redis does with what it has acknowledged. */
export interface RedisDurability {
  /** Can be asked whether a write is on disk (WAITAOF, Redis 7.2 and later, with the append-only file on). */
  confirmsDisk: boolean;
  /** What this means for deliveries that wait there while PostgreSQL is away; in words. */
  detail: string;
  /** Whether it is as it should be. */
  safe: boolean;
}

/**
 * Reads the settings that decide what becomes of deliveries that wait in Redis.
 *
 * @param key a key of those deliveries: of a Redis Cluster, the node that holds it is asked
 * @throws Redis's error where it does not answer; a setting that may not be read is unknown
 */
export async function readDurability(client: RedisClient, key: string): Promise<RedisDurability> {
  const names = ['appendonly', 'appendfsync', 'maxmemory-policy'];
  const pipeline = client.pipeline().exists(key).info('server');
  for (const name of names) pipeline.call('CONFIG', 'GET', name);
  const [exists, info, ...settings] = (await pipeline.exec()) ?? [];
  if (!exists || exists[0]) throw exists?.[0] ?? new Error('Redis dropped the pipeline.');
  const version = /redis_version:(\d+)\.(\d+)/.exec(String(info?.[1] ?? ''));
  const isNew = version !== null && Number(version[1]) * 100 + Number(version[2]) >= 702;
  const [appendOnly, sync, policy] = settings.map(([error, answer], index) => {
    // A managed Redis may forbid CONFIG.
    if (error || typeof answer !== 'object' || answer === null) return undefined;
    return Array.isArray(answer)
      ? (answer[1] as string | undefined)
      : (answer as Record<string, string>)[names[index]!];
  });
  if (appendOnly === undefined) {
    return {
      confirmsDisk: false,
      safe: false,
      detail: 'its settings cannot be read: see that appendonly is yes and appendfsync is always',
    };
  }
  const faults: string[] = [];
  // With `no` it leaves the disk to the system, and never confirms.
  const confirmsDisk = appendOnly === 'yes' && isNew && sync !== 'no';
  if (appendOnly !== 'yes') {
    faults.push(
      'appendonly is off: deliveries that wait here while PostgreSQL is away are lost if Redis restarts',
    );
  } else if (!confirmsDisk && sync !== 'always') {
    const loss = sync === 'no' ? 'some' : 'the last second';
    faults.push(`appendfsync is ${sync}: a crash of Redis may lose ${loss} of the deliveries that wait here`);
  }
  if (policy !== 'noeviction') {
    faults.push(`maxmemory-policy is ${policy}: a full Redis may drop deliveries that wait here`);
  }
  const slow = sync === 'everysec' ? ', up to a second: appendfsync always is faster' : '';
  const good = confirmsDisk ? `each waits for the disk (WAITAOF)${slow}` : 'appendfsync is always';
  return { confirmsDisk, safe: faults.length === 0, detail: faults.join('; ') || good };
}
