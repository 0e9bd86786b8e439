import type { ChainableCommander, Redis } from 'ioredis';
import type { Config } from '../../common/config/config.ts';
import { StoreUnavailable } from '../store/circuit.ts';

export interface FallbackState {
  acknowledges: boolean;
  detail: string;
  /** The remedy, or empty. */
  todo: string;
}

interface Settings {
  role: string | undefined;
  policy: string | undefined;
  keepsLog: boolean;
  /** Each reply waits for the disk. */
  syncs: boolean;
  /** WAITAOF, which waits for the disk, exists and is permitted. */
  hasWaitAof: boolean;
  hasReplica: boolean;
}

/** @throws the connection's error; a refused command is none */
async function readSettings(redis: Redis): Promise<Settings> {
  const pipeline = redis.pipeline().info().call('CONFIG', 'GET', '*appendfsync*').call('WAITAOF', 0, 0, 1);
  const replies = (await pipeline.exec()) ?? [];
  const failure = replies.find(([error]) => error && error.name !== 'ReplyError')?.[0];
  if (failure) throw failure;
  const [info, config, wait] = replies;
  const text = String(info![1]);
  const field = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(text)?.[1];
  // Names and values by turns.
  const pairs = (config![1] ?? []) as string[];
  const setting = (name: string) => pairs[pairs.indexOf(name) + 1];
  return {
    role: field('role'),
    policy: field('maxmemory_policy'),
    keepsLog: field('aof_enabled') === '1',
    syncs: setting('appendfsync') === 'always' && setting('no-appendfsync-on-rewrite') === 'no',
    hasWaitAof: wait![0] === null,
    hasReplica: /^slave\d+:/m.test(text),
  };
}

const trustedOrOff =
  'if this service keeps what it confirms in other ways, set REDIS_FALLBACK=trusted, otherwise off (docs/reliability.md)';

/** What cannot be read is not safe. */
function judge(settings: Settings): FallbackState {
  const { role, policy = 'not readable', keepsLog, syncs, hasWaitAof, hasReplica } = settings;
  const risks: [isThere: boolean, detail: string, settings?: string][] = [
    [role === 'slave', 'it is a replica: what is written to it is lost'],
    [hasReplica, 'it has a replica: a fail-over to that one may lose deliveries'],
    // Entries have no time to live, so volatile-* never evicts them.
    [
      !/^(noeviction$|volatile-)/.test(policy),
      `maxmemory-policy is ${policy}: a full Redis may drop deliveries`,
      'maxmemory-policy noeviction',
    ],
    [!keepsLog, 'appendonly is off: a restart of Redis loses deliveries', 'appendonly yes'],
    [
      !syncs && !hasWaitAof,
      'appendfsync is not always, or not readable, and Redis has no WAITAOF: a crash loses deliveries',
      'appendfsync always, no-appendfsync-on-rewrite no',
    ],
  ];
  const present = risks.filter(([isThere]) => isThere);
  if (present.length > 0) {
    const names = present.flatMap(([, , setting]) => setting ?? []).join(', ');
    const detail = present.map(([, risk]) => risk).join('; ');
    return { acknowledges: false, detail, todo: `${names && `Set in Redis: ${names}; `}${trustedOrOff}` };
  }
  const safe = syncs ? 'appendfsync is always' : 'each write waits for the disk (WAITAOF)';
  return { acknowledges: true, detail: safe, todo: '' };
}

const fixed: Record<string, FallbackState> = {
  off: { acknowledges: false, detail: 'REDIS_FALLBACK is off: no callback is stored here', todo: '' },
  trusted: { acknowledges: true, detail: 'REDIS_FALLBACK is trusted: nothing is checked', todo: '' },
};

/** Whether Redis keeps what it confirms, with its present settings. @throws the connection's error */
export const readState = async (redis: Redis, { redisFallback }: Config): Promise<FallbackState> =>
  fixed[redisFallback] ?? judge(await readSettings(redis));

/**
 * Resolves once the writes are kept. The settings are read before each commit: it is one for all deliveries that wait.
 *
 * @throws StoreUnavailable where Redis would not surely keep them: nothing was written; after any other error some may be
 */
export async function commit(
  redis: Redis,
  { redisFallback, times }: Config,
  write: (pipeline: ChainableCommander) => void,
): Promise<void> {
  const settings = redisFallback === 'checked' ? await readSettings(redis) : undefined;
  const { acknowledges, detail } = fixed[redisFallback] ?? judge(settings!);
  if (!acknowledges) throw new StoreUnavailable('Redis as the fallback store', new Error(detail));
  // A pipeline uses one connection, so the server that has stored the entries confirms them.
  const pipeline = redis.pipeline();
  write(pipeline);
  const waits = settings !== undefined && !settings.syncs;
  if (waits) pipeline.call('WAITAOF', 1, 0, times.redisMs);
  const results = (await pipeline.exec()) ?? [[new Error('Redis dropped the pipeline.')]];
  for (const [error] of results) if (error) throw error;
  // Two numbers: the server's own disk, and replicas.
  const [onDisk] = waits ? (results.at(-1)![1] as number[]) : [1];
  if (onDisk !== 1) throw new Error('Redis has not confirmed a write in time.');
}
