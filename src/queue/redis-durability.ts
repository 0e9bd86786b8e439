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

/** Reads the settings that decide what becomes of deliveries that wait in Redis. */
export async function readDurability(client: RedisClient): Promise<RedisDurability> {
  const setting = async (name: string): Promise<string | undefined> => {
    // A managed Redis may forbid CONFIG; then the setting is not known.
    const answer = (await client.call('CONFIG', 'GET', name).catch(() => [])) as
      | string[]
      | Record<string, string>;
    return Array.isArray(answer) ? answer[1] : answer[name];
  };
  const version = /redis_version:(\d+)\.(\d+)/.exec(await client.info('server'));
  const isNew = version !== null && Number(version[1]) * 100 + Number(version[2]) >= 702;
  const [appendOnly, sync, policy] = await Promise.all(
    ['appendonly', 'appendfsync', 'maxmemory-policy'].map(setting),
  );
  if (appendOnly === undefined) {
    return {
      confirmsDisk: false,
      safe: false,
      detail: 'its settings cannot be read: see that appendonly is yes',
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
  const good = confirmsDisk ? 'each waits for the disk (WAITAOF)' : 'appendfsync is always';
  return { confirmsDisk, safe: faults.length === 0, detail: faults.join('; ') || good };
}
