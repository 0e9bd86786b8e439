import type { Log } from '../common/log.ts';
import { queueName } from '../store/queue-locks.ts';
import type { RedisClient } from './redis.ts';

/** The name of the queue in Redis of one database. */
export const queueOf = (databaseId: string) => `${queueName}-${databaseId.slice(0, 8)}`;

/** The keys of BullMQ's queue that are no job, without the queue's name. */
const queueKeys = {
  list: ['wait', 'active', 'paused'],
  set: ['stalled'],
  zset: ['delayed', 'prioritized', 'completed', 'failed', 'waiting-children', 'repeat', 'marker'],
  string: ['stalled-check', 'id', 'pc', 'limiter'],
  hash: ['meta'],
  stream: ['events'],
};

export type RedisType = keyof typeof queueKeys;

/** The keys of a queue, with their types. @param queue with its prefix */
export const typesOfQueue = (queue: string): Record<string, RedisType> =>
  Object.fromEntries(
    Object.entries(queueKeys).flatMap(([type, names]) =>
      names.map((name) => [`${queue}:${name}`, type as RedisType]),
    ),
  );

// In one step: a key that is meanwhile replaced by one of ours stays.
const displace = `
local displaced = {}
for i, key in ipairs(KEYS) do
  local type = i <= #ARGV and redis.call('type', key).ok
  if type and type ~= 'none' and type ~= ARGV[i] then
    redis.call('rename', key, KEYS[i + #ARGV])
    table.insert(displaced, key)
    table.insert(displaced, type)
  end
end
return displaced`;

/**
 * Renames keys of ours at which somebody else has stored a value of another type: every command on them would fail, so that
 * nothing is applied or acknowledged. Nobody's data is deleted. What was in the queue is enqueued again by the sweep.
 *
 * @param keys with their types
 * @throws Redis's error
 */
export async function displaceKeys(
  redis: RedisClient,
  keys: Record<string, RedisType>,
  log: Log,
): Promise<void> {
  const names = Object.keys(keys);
  const suffix = `:displaced:${Date.now()}`;
  const all = [...names, ...names.map((name) => name + suffix)];
  const displaced = (await redis.eval(displace, all.length, ...all, ...Object.values(keys))) as string[];
  for (let at = 0; at < displaced.length; at += 2) {
    const [key, type] = displaced.slice(at, at + 2) as [string, string];
    log.error(
      { key, type, expected: keys[key], renamedTo: key + suffix },
      'a key of the receiver in Redis had a value of another type, which somebody else has stored there; it was renamed',
    );
  }
}
