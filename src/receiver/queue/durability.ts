import { once } from 'node:events';
import type { ChainableCommander, Redis } from 'ioredis';
import type { Config } from '../../common/config/config.ts';
import type { Log } from '../../common/log.ts';
import { StoreUnavailable } from '../store/circuit.ts';

export interface FallbackState {
  acknowledges: boolean;
  detail: string;
  /** The remedy, or empty. */
  todo: string;
}

/** Nothing was written: Redis would not surely keep it. */
export class NotKept extends StoreUnavailable {
  constructor(detail: string) {
    super('Redis as the fallback store', new Error(detail));
    this.name = 'NotKept';
  }
}

interface Settings {
  runId: string | undefined;
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
    runId: field('run_id'),
    role: field('role'),
    policy: field('maxmemory_policy'),
    keepsLog: field('aof_enabled') === '1',
    syncs: setting('appendfsync') === 'always' && setting('no-appendfsync-on-rewrite') === 'no',
    hasWaitAof: wait![0] === null,
    hasReplica: /^slave\d+:.*state=online/m.test(text),
  };
}

const trustedOrOff =
  'if this service keeps what it confirms in other ways, set REDIS_FALLBACK=trusted, otherwise off (docs/reliability.md)';

/** What cannot be read is not safe. @param hadReplica not long ago, or now */
function judge(settings: Settings, hadReplica: boolean): FallbackState {
  const { role, policy = 'not readable', keepsLog, syncs, hasWaitAof, hasReplica } = settings;
  const risks: [isThere: boolean, detail: string, settings?: string][] = [
    [role === 'slave', 'it is a replica: what is written to it is lost'],
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
    return { acknowledges: false, detail, todo: names && `Set in Redis: ${names}; ${trustedOrOff}` };
  }
  const safe = syncs ? 'appendfsync is always' : 'each write waits for the disk (WAITAOF)';
  if (!hadReplica) return { acknowledges: true, detail: safe, todo: '' };
  if (hasReplica) return { acknowledges: true, detail: `${safe}, and for a replica (WAIT)`, todo: '' };
  const detail = 'its replica is missing: a fail-over to it may lose deliveries';
  return { acknowledges: false, detail, todo: 'Wait, or start it: a missing replica is soon forgotten' };
}

interface Durability {
  opening: Promise<unknown>;
  readonly state: FallbackState;
  /** Resolves once the writes are kept. @throws NotKept; after any other error some may be executed */
  commit: (write: (pipeline: ChainableCommander) => void) => Promise<void>;
  stop: () => void;
}

const fixed: Record<string, FallbackState> = {
  off: { acknowledges: false, detail: 'REDIS_FALLBACK is off: no callback is stored here', todo: '' },
  trusted: { acknowledges: true, detail: 'REDIS_FALLBACK is trusted: nothing is checked', todo: '' },
};
export const isAway: FallbackState = { acknowledges: false, detail: 'Redis is unavailable', todo: '' };

/**
 * Watches whether Redis keeps what it confirms: every few seconds, and after each reconnect.
 *
 * A replica may replace its primary while that still has open connections: where there is one, a commit counts once the
 * replica has it too, and nothing is committed for a while after it has gone.
 */
export function watchDurability(redis: Redis, config: Config, log: Log): Durability {
  const { redisFallback: mode, times } = config;
  /** Undefined: not read since the connection was made. */
  let settings: Settings | undefined;
  /** The server that had a replica, and when. */
  let replica: { runId: string | undefined; seenAt: number } | undefined;
  let logged: boolean | undefined;

  const stateOf = (of: Settings | undefined): FallbackState =>
    fixed[mode] ?? (of ? judge(of, replica !== undefined) : isAway);

  /** @throws Redis's error */
  const look = async (): Promise<Settings> => {
    const read = await readSettings(redis);
    const now = performance.now();
    settings = read;
    // After a fail-over the new primary is judged by itself.
    if (read.hasReplica) replica = { runId: read.runId, seenAt: now };
    else if (replica?.runId !== read.runId || now - replica!.seenAt > times.forgetReplicaMs)
      replica = undefined;
    const { acknowledges, ...more } = stateOf(read);
    if (acknowledges && !logged) log.info(more, 'Redis keeps callbacks while PostgreSQL is unavailable');
    if (!acknowledges && logged !== false) log.warn(more, 'Redis does not keep callbacks: it takes none');
    logged = acknowledges;
    return read;
  };
  /** The circuit of Redis reports outages. */
  const lookOrNot = () => look().catch(() => undefined);

  let timer: NodeJS.Timeout | undefined;
  if (mode === 'checked') {
    redis.on('close', () => {
      settings = undefined;
    });
    redis.on('ready', lookOrNot);
    timer = setInterval(async () => {
      const read = await lookOrNot();
      // It was replaced: a new connection leads to the new primary.
      if (read?.role === 'slave' && redis.status === 'ready') redis.disconnect(true);
    }, times.redisLookEveryMs).unref();
  }

  return {
    opening: once(redis, 'ready').then(
      () => (mode === 'checked' ? lookOrNot() : undefined),
      () => {}, // the circuit of Redis reports it
    ),

    get state() {
      return stateOf(settings);
    },

    commit: async (write) => {
      const current = mode === 'checked' ? (settings ?? (await look())) : undefined;
      const { acknowledges, detail } = stateOf(current);
      if (!acknowledges) throw new NotKept(detail);
      // A pipeline uses one connection, so the server that has stored the entries confirms them.
      const pipeline = redis.pipeline();
      write(pipeline);
      const writes = pipeline.length;
      if (current && !current.syncs) pipeline.call('WAITAOF', 1, 0, times.redisMs);
      if (replica) pipeline.call('WAIT', 1, times.redisMs);
      await execute(pipeline, writes);
    },

    stop: () => clearInterval(timer),
  };
}

/** @param writes the number of commands before those that confirm them */
async function execute(pipeline: ChainableCommander, writes: number): Promise<void> {
  const results = (await pipeline.exec()) ?? [[new Error('Redis dropped the pipeline.')]];
  for (const [error] of results) if (error) throw error;
  // WAITAOF replies with two numbers: the server's own disk, and replicas.
  const confirmed = results.slice(writes).map(([, reply]) => [reply].flat()[0] as number);
  if (confirmed.some((count) => count < 1)) throw new Error('Redis has not confirmed a write in time.');
}
