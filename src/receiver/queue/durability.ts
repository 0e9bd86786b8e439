import type { ChainableCommander, Redis } from 'ioredis';
import type { Config } from '../../common/config/config.ts';
import { StoreUnavailable } from '../store/circuit.ts';

export interface FallbackState {
  acknowledges: boolean;
  detail: string;
  todo: string;
}

const trustedOrOff =
  'if this service keeps what it confirms in other ways, set REDIS_FALLBACK=trusted, otherwise off (docs/reliability.md)';

/** What cannot be read is not safe. @throws the connection's error; a refused command is none */
async function judge(redis: Redis): Promise<FallbackState> {
  const replies = (await redis.pipeline().info().call('CONFIG', 'GET', '*appendfsync*').exec()) ?? [];
  const failure = replies.find(([error]) => error && error.name !== 'ReplyError')?.[0];
  if (failure) throw failure;
  const [info, config] = replies;
  const text = String(info![1]);
  const field = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(text)?.[1];
  // Names and values by turns.
  const pairs = (config![1] ?? []) as string[];
  const setting = (name: string) => pairs[pairs.indexOf(name) + 1];
  const policy = field('maxmemory_policy') ?? 'not readable';
  const risks: [isThere: boolean, detail: string, settings?: string][] = [
    [field('role') === 'slave', 'it is a replica: what is written to it is lost'],
    [/^slave\d+:/m.test(text), 'it has a replica: a fail-over to that one may lose deliveries'],
    // Entries have no time to live, so volatile-* never evicts them.
    [
      !/^(noeviction$|volatile-)/.test(policy),
      `maxmemory-policy is ${policy}: a full Redis may drop deliveries`,
      'maxmemory-policy noeviction',
    ],
    [
      field('aof_enabled') !== '1',
      'appendonly is off: a restart of Redis loses deliveries',
      'appendonly yes',
    ],
    [
      setting('appendfsync') !== 'always' || setting('no-appendfsync-on-rewrite') !== 'no',
      'appendfsync is not always, or not readable: a crash loses deliveries',
      'appendfsync always, no-appendfsync-on-rewrite no',
    ],
  ];
  const present = risks.filter(([isThere]) => isThere);
  if (present.length > 0) {
    const names = present.flatMap(([, , setting]) => setting ?? []).join(', ');
    const detail = present.map(([, risk]) => risk).join('; ');
    return { acknowledges: false, detail, todo: `${names && `Set in Redis: ${names}; `}${trustedOrOff}` };
  }
  return { acknowledges: true, detail: 'appendfsync is always', todo: '' };
}

const fixed: Record<string, FallbackState> = {
  off: { acknowledges: false, detail: 'REDIS_FALLBACK is off: no callback is stored here', todo: '' },
  trusted: { acknowledges: true, detail: 'REDIS_FALLBACK is trusted: nothing is checked', todo: '' },
};

/** Whether Redis keeps what it confirms, with its present settings. @throws the connection's error */
export const readState = async (redis: Redis, { redisFallback }: Config): Promise<FallbackState> =>
  fixed[redisFallback] ?? judge(redis);

/**
 * Resolves once the writes are kept. The settings are read before each commit: it is one for all deliveries that wait.
 *
 * @throws StoreUnavailable where Redis would not surely keep them: nothing was written; after any other error some may be
 */
export async function commit(
  redis: Redis,
  config: Config,
  write: (pipeline: ChainableCommander) => void,
): Promise<void> {
  const { acknowledges, detail } = await readState(redis, config);
  if (!acknowledges) throw new StoreUnavailable('Redis as the fallback store', new Error(detail));
  const pipeline = redis.pipeline();
  write(pipeline);
  const results = (await pipeline.exec()) ?? [[new Error('Redis dropped the pipeline.')]];
  for (const [error] of results) if (error) throw error;
}
