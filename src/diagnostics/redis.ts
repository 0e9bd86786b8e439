import type { Redis } from 'ioredis';
import { RedisUnusable, withRedis } from '../queue/check-redis.ts';
import { keyPrefix } from '../queue/redis-backend.ts';
import { judgeNode, readNode } from '../queue/redis-durability.ts';
import { explainConnection } from '../store/explain-connection.ts';
import { type Check, type ReportFinding, runEach, type Subject } from './finding.ts';
import { checkClock } from './machine.ts';

/** The server of REDIS_URL: whether it can be used, what it keeps, its memory, its clock. */
export const checkRedis: Check = async (subject, report) => {
  const url = subject.config.redisUrl;
  if (!url) {
    if (!subject.invalid.has('REDIS_URL')) {
      report('ok', 'redis', 'none: the queue is in PostgreSQL, and callbacks get 503 while that is away');
    }
    return;
  }
  const explained = (error: unknown) => [explain(error as Error, url, subject)];
  const examined = () =>
    withRedis(url, async (client) =>
      runEach('redis', await checksOf(client, subject, report), explained, report),
    );
  await runEach('redis', [examined], explained, report);
};

async function checksOf(client: Redis, subject: Subject, report: ReportFinding) {
  const key = `${keyPrefix(subject.config.queuePrefix)}:check`;
  // A user may lack the permission.
  const info = parseInfo(await client.info().catch(() => ''));
  report('ok', 'redis', `Redis ${info.redis_version ?? 'of an unknown version'}`);
  if (info.role === 'slave')
    report('fail', 'redis', 'it is a replica, and takes no writes. Point REDIS_URL to the primary');
  return [
    () => checkClock('Redis', () => readTime(client), report),
    async () => checkMemory(info, report),
    () => checkPersistence(client, key, subject.config.redisFallback, report),
  ];
}

async function checkPersistence(
  client: Redis,
  key: string,
  mode: Subject['config']['redisFallback'],
  report: ReportFinding,
): Promise<void> {
  const { isSafe, detail, todo } = judgeNode(await readNode(client, key));
  if (mode === 'off') {
    report('ok', 'persistence', 'REDIS_FALLBACK is off: callbacks get 503 while PostgreSQL is unavailable');
  } else if (mode === 'trusted') {
    const trusted =
      'REDIS_FALLBACK is trusted: callbacks are acknowledged from Redis whatever its settings are';
    report(isSafe ? 'ok' : 'warn', 'persistence', `${trusted}. ${detail}`);
  } else if (isSafe) report('ok', 'persistence', detail);
  else report('fail', 'persistence', `${detail}. ${todo}`);
}

function checkMemory(
  { used_memory: used, maxmemory: max }: Record<string, string>,
  report: ReportFinding,
): void {
  const share = Number(used) / Number(max);
  if (!Number.isFinite(share)) return; // unlimited, or unknown
  const text = `${Math.round(share * 100)} % of maxmemory is in use`;
  if (share < 0.8) report('ok', 'memory of Redis', text);
  else report('warn', 'memory of Redis', `${text}. Raise maxmemory: a full Redis takes no deliveries`);
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

function explain(error: Error, url: string, { redact }: Subject): string {
  if (error instanceof RedisUnusable) return redact(error.message);
  const { hostname, port } = new URL(url);
  const target = {
    variable: 'REDIS_URL',
    store: 'Redis',
    host: hostname,
    port: Number(port) || 6379,
  } as const;
  return explainConnection(error, target) ?? redact(error.message);
}
