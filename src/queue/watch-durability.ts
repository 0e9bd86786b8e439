import { setTimeout as sleep } from 'node:timers/promises';
import type { ChainableCommander } from 'ioredis';
import type { Log } from '../common/log.ts';
import { timeLimits } from '../common/time-limits.ts';
import type { Config } from '../config/config.ts';
import type { RedisClient } from './redis.ts';
import {
  createNodeReader,
  type Durability,
  judgeNode,
  type RedisNode,
  readNode,
} from './redis-durability.ts';

const lookEveryMs = 5_000;
const retryMs = 500;
/** A commit that was not confirmed counts for this long. */
const unconfirmedMs = lookEveryMs;
/** The part of it for a replica, after Redis's own disk: the replica gets the commit at the same time. */
const replicaMs = 300;

export interface WatchOptions {
  redis: RedisClient;
  /** A key of the receiver's. */
  key: string;
  mode: Config['redisFallback'];
  log: Log;
  /** The time limit of a commit. */
  timeoutMs?: number | undefined;
  /** How long a replica may be missing before commits no longer wait for one. */
  forgetReplicaMs?: number | undefined;
}

/** What Redis is for callbacks while PostgreSQL is unavailable. */
export interface FallbackState {
  /** Whether a callback that is stored in Redis is acknowledged. */
  acknowledges: boolean;
  /** REDIS_FALLBACK is off. */
  isOff: boolean;
  /** Why or why not, and what to do. */
  detail: string;
  /** The version of Redis; undefined: it may not be read. */
  version: string | undefined;
}

type Results = [error: Error | null, result: unknown][];

/**
 * Watches whether Redis keeps what it confirms: every few seconds, after each reconnect, and with each commit. Where it
 * may lose a delivery, or does not say, nothing is acknowledged from it.
 *
 * A Redis that had a replica may be replaced by it: from then on a commit counts once a replica has it, too.
 */
export function watchDurability({
  redis,
  key,
  mode,
  log,
  timeoutMs = timeLimits().redisMs,
  forgetReplicaMs = 600_000,
}: WatchOptions) {
  /** For the confirmations of a commit; the rest of its timeout is for the network. */
  const confirmMs = timeoutMs - 100;
  const reader = createNodeReader();
  let node: RedisNode | undefined;
  let judged: Durability | undefined;
  /** Whether the log of commands contains everything: not until its first rewrite after it was switched on. */
  let isLogComplete = false;
  /** When a replica was last there, of the server with this run id. */
  let replica: { runId: string | undefined; seenAt: number } | undefined;
  let unconfirmed: { detail: string; at: number } | undefined;
  let logged: boolean | undefined;

  const noteReplicas = ({ runId, replicas }: RedisNode) => {
    const now = performance.now();
    if (replicas > 0 || (replica && replica.runId !== runId)) replica = { runId, seenAt: now };
    else if (replica && now - replica.seenAt > forgetReplicaMs) {
      replica = undefined;
      log.warn('Redis has had no replica for a while: callbacks are acknowledged without one again');
    }
  };

  const assess = ({ isSafe, detail, todo }: Durability): Pick<FallbackState, 'acknowledges' | 'detail'> => {
    if (mode === 'off') {
      return { acknowledges: false, detail: 'REDIS_FALLBACK is off: no callback is stored here' };
    }
    if (mode === 'trusted') {
      const trusted = 'REDIS_FALLBACK is trusted: callbacks are acknowledged whatever the settings are';
      return { acknowledges: true, detail: `${trusted} (${detail})` };
    }
    if (!isSafe) return { acknowledges: false, detail: todo ? `${detail}. ${todo}` : detail };
    if (replica && node?.replicas === 0) {
      const missing = 'its replica is missing: a fail-over to it may lose deliveries';
      const minutes = Math.round(forgetReplicaMs / 60_000);
      return {
        acknowledges: false,
        detail: `${missing}. Start it; after ${minutes} minutes it is forgotten`,
      };
    }
    if (unconfirmed && performance.now() - unconfirmed.at < unconfirmedMs) {
      return { acknowledges: false, detail: unconfirmed.detail };
    }
    return { acknowledges: true, detail: replica ? `${detail}, and for a replica (WAIT)` : detail };
  };
  const describe = (of: Durability): FallbackState => ({
    ...assess(of),
    isOff: mode === 'off',
    version: node?.version,
  });

  /** One line when it begins, and one when it ends. */
  const logChange = (of: Durability) => {
    const { acknowledges, detail } = assess(of);
    if (acknowledges === logged) return;
    const message = acknowledges
      ? 'Redis is the fallback store while PostgreSQL is unavailable'
      : 'Redis is no fallback store: no callback is acknowledged from it while PostgreSQL is unavailable';
    const isWell = acknowledges && mode === 'checked' && logged === undefined;
    log[isWell || mode === 'off' ? 'info' : 'warn']({ detail }, message);
    logged = acknowledges;
  };

  const note = (read: RedisNode) => {
    if (read.runId !== node?.runId || !read.keepsLog) isLogComplete = false;
    if (read.keepsLog && !read.isRewriting) isLogComplete = true;
    node = read;
    if (mode === 'checked') noteReplicas(read);
    judged = judgeNode(read, isLogComplete);
    return judged;
  };

  let looking: Promise<Durability> | undefined;
  /** Once at a time: a refused CONFIG is asked for once. @throws Redis's error */
  const look = (): Promise<Durability> => {
    looking ??= readNode(redis, key, reader)
      .then(note)
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };

  const lookAgain = async () => {
    logChange(await look());
  };

  redis.on('ready', () => {
    // Another server after a fail-over; another user.
    judged = undefined;
    reader.reset();
    lookAgain().catch(() => {}); // see keepLooking
  });
  const keepLooking = async () => {
    while (redis.status !== 'end') {
      // The circuit of Redis reports outages.
      const isRead = await lookAgain().then(
        () => true,
        () => false,
      );
      await sleep(isRead ? lookEveryMs : retryMs, undefined, { ref: false });
    }
  };
  void keepLooking();

  /** Adds what confirms the writes before it. @returns reads from the results why they are not confirmed; undefined: they are */
  const askForConfirmation = (pipeline: ChainableCommander, confirmsDisk: boolean) => {
    const at = pipeline.length;
    const hasReplica = replica !== undefined;
    const waitMs = node?.replicas === 0 ? 1 : confirmsDisk ? replicaMs : confirmMs;
    if (confirmsDisk) pipeline.call('WAITAOF', 1, 0, hasReplica ? confirmMs - waitMs : confirmMs);
    if (hasReplica) pipeline.call('WAIT', 1, waitMs);
    return (results: Results): string | undefined => {
      const replies = results.slice(at);
      const [diskError, onDisk] = (confirmsDisk && replies.shift()) || [null, [1]];
      const [waitError, replicas] = (hasReplica && replies.shift()) || [null, 1];
      if (diskError ?? waitError) return `it refuses to confirm: ${(diskError ?? waitError)!.message}`;
      if ((onDisk as number[])[0]! < 1) return 'it did not write to its disk in time';
      if ((replicas as number) < 1) return 'no replica confirmed in time';
      return undefined;
    };
  };

  return {
    /** @throws Redis's error */
    read: async (): Promise<FallbackState> => {
      return describe(await look());
    },

    /** Whether Redis keeps a log of commands, with what was deleted; undefined: unknown. @throws Redis's error */
    keepsLog: async (): Promise<boolean | undefined> => {
      if (!node) await look();
      return node!.keepsLog;
    },

    /** As of the last look; undefined: not since the connection was made. */
    get state(): FallbackState | undefined {
      return judged && describe(judged);
    },

    /**
     * Executes writes and looks whether they are kept. The settings of before and after them count: what was written
     * between a change and a look is not acknowledged.
     *
     * @param write adds the writes to a pipeline; not called where Redis may drop them
     * @returns whether they are kept
     * @throws Redis's error; some writes may be executed nevertheless
     */
    commit: async (write: (pipeline: ChainableCommander) => void): Promise<boolean> => {
      const isChecked = mode !== 'trusted';
      let before = judged ?? (await look());
      if (isChecked && before.mayEvict) before = await look();
      if (isChecked && before.mayEvict) {
        logChange(before);
        return false;
      }
      const runId = node?.runId;
      const pipeline = redis.pipeline();
      write(pipeline);
      const writes = pipeline.length;
      const read = isChecked ? reader.ask(pipeline) : undefined;
      const confirm = isChecked ? askForConfirmation(pipeline, before.confirmsDisk) : undefined;
      const results = await pipeline.exec();
      if (!results) throw new Error('Redis dropped the pipeline.');
      for (const [error] of results.slice(0, writes)) if (error) throw error;
      if (!read || !confirm) return true;
      const after = note(read(results));
      const reason = confirm(results);
      if (reason) unconfirmed = { detail: reason, at: performance.now() };
      logChange(after);
      // The pipeline may have been sent again, to another server.
      return before.isSafe && after.isSafe && !reason && node?.runId === runId;
    },
  };
}
