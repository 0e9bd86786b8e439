import type { Redis } from 'ioredis';
import { checkKey, serversOf, withServer } from '../queue/check-redis.ts';
import { parseRedisUrl, type RedisAddress } from '../queue/redis.ts';
import { readDurability } from '../queue/redis-durability.ts';
import { checkPermissions, RedisUnusable } from '../queue/redis-permissions.ts';
import { checkClock } from './clock.ts';
import { explainConnection } from './connection.ts';
import type { Check, Report, Subject } from './finding.ts';

/** Each server of REDIS_URL: whether it can be used, what it keeps, its memory, its clock. */
export const checkRedis: Check = async (subject, report) => {
  const url = subject.config.redisUrl;
  if (!url) {
    if (!subject.invalid.has('REDIS_URL')) {
      report('ok', 'redis', 'none: the queue is in PostgreSQL, and callbacks get 503 while that is away');
    }
    return;
  }
  const { kind } = parseRedisUrl(url);
  await Promise.all(
    serversOf(url).map((server) =>
      withServer(server, (client) => examine(client, kind === 'cluster', subject, report)).catch((error) =>
        report('fail', 'redis', explain(error, server, subject)),
      ),
    ),
  );
};

async function examine(client: Redis, isCluster: boolean, subject: Subject, report: Report): Promise<void> {
  const { queuePrefix } = subject.config;
  // A user may lack the permission.
  const info = parseInfo(await client.info().catch(() => ''));
  if (info.role === 'slave') {
    report('fail', 'redis', 'this is a replica, which takes no writes. Point REDIS_URL to the primary');
    return;
  }
  await checkPermissions(client, isCluster, checkKey(queuePrefix));
  report('ok', 'redis', `${info.redis_version ?? 'an unknown version'}, permits each command of the service`);
  await checkClock('clock', 'Redis', () => readTime(client), subject, report);
  checkMemory(info, report);
  try {
    const { safe, fixes, detail } = await readDurability(client, checkKey(queuePrefix));
    if (safe) report('ok', 'redis persistence', detail);
    else if (fixes.length === 0) report('warn', 'redis persistence', detail);
    else report('fail', 'redis persistence', `${detail}. Run, and set in redis.conf: ${fixes.join('; ')}`);
  } catch (error) {
    // Another node of the cluster has the service's keys.
    if (!(error as Error).message.startsWith('MOVED')) throw error;
  }
}

function checkMemory({ used_memory: used, maxmemory: max }: Record<string, string>, report: Report): void {
  const share = Number(used) / Number(max);
  if (!Number.isFinite(share)) return; // unlimited, or unknown
  const text = `${Math.round(share * 100)} % of maxmemory is in use`;
  if (share < 0.8) report('ok', 'redis memory', text);
  else report('warn', 'redis memory', `${text}. Raise maxmemory: a full Redis takes no deliveries`);
}

async function readTime(client: Redis): Promise<number> {
  const [seconds, microseconds] = await client.time();
  return Number(seconds) * 1000 + Number(microseconds) / 1000;
}

function parseInfo(text: string): Record<string, string> {
  return Object.fromEntries(
    Array.from(text.matchAll(/^(\w+):(.*?)\r?$/gm), ([, name, value]) => [name!, value!]),
  );
}

function explain(error: Error, { nodes }: RedisAddress, { redact }: Subject): string {
  if (error instanceof RedisUnusable) return redact(error.message);
  const target = { variable: 'REDIS_URL', store: 'Redis', ...nodes[0]! } as const;
  return explainConnection(error, target) ?? redact(error.message);
}
