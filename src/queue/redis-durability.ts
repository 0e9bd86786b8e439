import type { ChainableCommander } from 'ioredis';
import type { RedisClient } from './redis.ts';

/** What a node of Redis says about how it keeps what is written to it; undefined: it does not say. */
export interface RedisNode {
  version: string | undefined;
  /** Another one after each start of the server. */
  runId: string | undefined;
  policy: string | undefined;
  /** Whether it keeps a log of commands (appendonly). */
  keepsLog: boolean | undefined;
  /** Whether that log is being rewritten, or will be. */
  isRewriting: boolean;
  /** `appendfsync`; undefined where CONFIG is not permitted. */
  sync: string | undefined;
  /** Whether WAITAOF exists and is permitted: it confirms that a write is on disk. */
  hasWaitAof: boolean;
  /** Whether the disk is not waited for during a rewrite. */
  skipsSync: boolean;
  /** Replicas that have lately confirmed what they received. */
  replicas: number;
}

export interface Durability {
  /** Whether what Redis confirms is kept. What cannot be read is not safe. */
  isSafe: boolean;
  /** The consequence for deliveries that wait there. */
  detail: string;
  /** What to do; empty where it is safe. */
  todo: string;
  /** Whether a full Redis may drop deliveries, or does not say so: none is written to it. */
  mayEvict: boolean;
  /** Whether WAITAOF confirms each write. */
  confirmsDisk: boolean;
}

/** One pattern for two settings: a refused CONFIG is an entry of ACL LOG. */
const syncSettings = '*appendfsync*';
const sections = ['server', 'memory', 'persistence', 'replication'] as const;
/** Redis's own limit for a replica that counts (min-replicas-max-lag). */
const maxLagS = 10;

type Results = [error: Error | null, result: unknown][];

const isMissing = (error: Error | null) => /^NOPERM|unknown command/i.test(error?.message ?? '');

/**
 * Creates what reads the settings of a node in a pipeline. Commands that the server has refused are not sent again until it is another
 * one, or until `reset`.
 */
export function createNodeReader() {
  let refused = { config: false, waitAof: false };
  let hasWaitAof = false;
  let runId: string | undefined;
  const reset = () => {
    refused = { config: false, waitAof: false };
    hasWaitAof = false;
  };
  return {
    reset,
    /** Adds the commands to a pipeline. @returns reads their replies from its results */
    ask: (pipeline: ChainableCommander): ((results: Results) => RedisNode) => {
      const at = pipeline.length;
      for (const section of sections) pipeline.info(section);
      const asked = { config: !refused.config, waitAof: !refused.waitAof && !hasWaitAof };
      if (asked.config) pipeline.call('CONFIG', 'GET', syncSettings);
      // Waits for nothing.
      if (asked.waitAof) pipeline.call('WAITAOF', 0, 0, 1);
      return (results) => {
        const replies = results.slice(at);
        const info = parseInfo(replies.splice(0, sections.length));
        if (info.run_id !== runId) reset();
        runId = info.run_id;
        const [error, reply] = (asked.config && replies.shift()) || [null, undefined];
        const settings = error ? {} : parseSettings(reply);
        // A managed Redis may not permit CONFIG, or have no such command.
        if (error) refused.config = true;
        const [waitError] = (asked.waitAof && replies.shift()) || [null];
        if (isMissing(waitError)) refused.waitAof = true;
        else if (asked.waitAof && !waitError) hasWaitAof = true;
        return {
          version: info.redis_version,
          runId,
          policy: info.maxmemory_policy,
          keepsLog: info.aof_enabled === undefined ? undefined : info.aof_enabled === '1',
          isRewriting: info.aof_rewrite_in_progress === '1' || info.aof_rewrite_scheduled === '1',
          sync: settings.appendfsync,
          hasWaitAof,
          skipsSync: settings['no-appendfsync-on-rewrite'] === 'yes',
          replicas: countReplicas(info),
        };
      };
    },
  };
}

/**
 * Reads the settings of a node.
 *
 * @param key of the deliveries that wait in Redis
 * @throws Redis's error while it is unavailable; a setting without read permission is undefined
 */
export async function readNode(
  client: RedisClient,
  key: string,
  reader = createNodeReader(),
): Promise<RedisNode> {
  const pipeline = client.pipeline().exists(key);
  const read = reader.ask(pipeline);
  const results = await pipeline.exec();
  const [error] = results?.[0] ?? [new Error('Redis dropped the pipeline.')];
  if (error) throw error;
  return read(results!);
}

/**
 * Judges whether what this node confirms is kept.
 *
 * @param isLogComplete whether the log has been rewritten since it was switched on: until then it does not contain what was written before
 */
export function judgeNode(node: RedisNode, isLogComplete = true): Durability {
  const { policy, keepsLog, sync, hasWaitAof } = node;
  const risks: string[] = [];
  const fixes: string[] = [];
  const unknown: string[] = [];
  // Our entries have no time to live, so that volatile-* never evicts them.
  const mayEvict = !policy || !/^(noeviction$|volatile-)/.test(policy);
  if (keepsLog === undefined) unknown.push('whether appendonly is on cannot be read');
  else if (!keepsLog) {
    risks.push('appendonly is off: deliveries that wait here are lost when Redis restarts');
    fixes.push('CONFIG SET appendonly yes', 'CONFIG SET appendfsync always');
  } else if (sync === undefined) {
    if (!hasWaitAof) unknown.push('appendfsync cannot be read, and Redis has no WAITAOF');
  } else if (sync !== 'always' && !(hasWaitAof && sync === 'everysec')) {
    const loss = sync === 'no' ? 'some' : 'the last second';
    risks.push(`appendfsync is ${sync}: a crash of Redis may lose ${loss} of the deliveries that wait here`);
    fixes.push('CONFIG SET appendfsync always');
  }
  if (keepsLog && !hasWaitAof) {
    if (node.skipsSync) {
      risks.push('no-appendfsync-on-rewrite is yes: a crash of Redis during a rewrite may lose deliveries');
      fixes.push('CONFIG SET no-appendfsync-on-rewrite no');
    }
    if (!isLogComplete) risks.push('appendonly was switched on, and its first rewrite has not finished');
  }
  if (!policy) unknown.push('maxmemory-policy cannot be read');
  else if (mayEvict) {
    risks.push(`maxmemory-policy is ${policy}: a full Redis may drop deliveries that wait here`);
    fixes.push('CONFIG SET maxmemory-policy noeviction');
  }
  const problems = [...risks, ...unknown];
  const slow = sync === 'everysec' ? ', up to a second: appendfsync always is faster' : '';
  const good = hasWaitAof ? `each waits for the disk (WAITAOF)${slow}` : 'appendfsync is always';
  const todo = [
    ...(fixes.length > 0 ? [`Run, and set in redis.conf: ${fixes.join('; ')}`] : []),
    ...(unknown.length > 0 ? [ofService] : []),
  ].join('. ');
  return {
    isSafe: problems.length === 0,
    detail: problems.join('; ') || good,
    todo,
    mayEvict,
    confirmsDisk: keepsLog === true && hasWaitAof,
  };
}

const ofService =
  'If this service keeps what it confirms in other ways, set REDIS_FALLBACK=trusted, otherwise off: docs/reliability.md lists some';

function parseInfo(replies: Results): Record<string, string | undefined> {
  const lines = replies.flatMap(([error, text]) => (error ? [] : String(text).split(/\r?\n/)));
  return Object.fromEntries(lines.map((line) => line.split(/:(.*)/s) as [string, string]));
}

function parseSettings(reply: unknown): Record<string, string | undefined> {
  if (!Array.isArray(reply)) return { ...(reply as Record<string, string> | undefined) };
  const pairs = reply.flatMap((name, index) => (index % 2 === 0 ? [[name, reply[index + 1]]] : []));
  return Object.fromEntries(pairs);
}

const countReplicas = (info: Record<string, string | undefined>) =>
  Object.entries(info).filter(([name, text = '']) => {
    if (!/^slave\d+$/.test(name) || !/\bstate=online\b/.test(text)) return false;
    return Number(/\blag=(\d+)/.exec(text)?.[1] ?? 0) <= maxLagS;
  }).length;
