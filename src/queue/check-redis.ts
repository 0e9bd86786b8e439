import type { Redis } from 'ioredis';
import type { Log } from '../log.ts';
import { withTimeout } from '../with-timeout.ts';
import { openSingle, parseRedisUrl, type RedisAddress } from './redis.ts';

/** Raised where Redis answers but cannot be used as REDIS_URL says; the message says what to change. */
export class RedisUnusable extends Error {
  constructor(problem: string, cause?: Error) {
    super(`REDIS_URL: ${problem}`, { cause });
    this.name = 'RedisUnusable';
  }
}

const timeoutMs = 6_000;

/**
 * Checks at start that the Redis of REDIS_URL takes the password, the certificate and the number of the
 * database, and allows every command that the queue and the fallback store need. It changes nothing there.
 *
 * Redis being away is no error, for it may come back: a log line says so. Of a cluster, each node that
 * REDIS_URL names is checked.
 *
 * @param prefix what the names of the keys begin with, in braces
 * @throws RedisUnusable
 */
export async function checkRedis(url: string, prefix: string, log: Log): Promise<void> {
  const address = parseRedisUrl(url);
  const nodes: RedisAddress[] =
    address.kind === 'cluster'
      ? address.nodes.map((node) => ({ ...address, kind: 'single', nodes: [node] }))
      : [address];
  await Promise.all(
    nodes.map(async (node) => {
      try {
        await checkNode(node, address.kind === 'cluster', `{${prefix}}:check`);
      } catch (error) {
        if (error instanceof RedisUnusable) throw error;
        log.warn(
          { err: error, redis: node.nodes },
          'Redis cannot be used yet; the service starts and waits for it',
        );
      }
    }),
  );
}

async function checkNode(address: RedisAddress, isCluster: boolean, key: string): Promise<void> {
  // It connects once and needs no right for that: with the ready check a client asks INFO.
  const options = {
    lazyConnect: true,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 2_000,
  };
  const client = openSingle(address, options, () => null);
  // The connection itself says only that it was closed.
  let cause: Error | undefined;
  let sentinelSays: Error | undefined;
  client.on('error', (error) => {
    cause ??= error;
  });
  client.on('sentinelError', (error) => {
    sentinelSays = error;
  });
  try {
    await withTimeout(timeoutMs, client.connect()).catch((error) => {
      throw explain(sentinelSays ?? cause ?? error, address);
    });
    // ioredis goes on in database 0 where the one that it was told to select is not there.
    if (cause) throw explain(cause, address);
    await checkCommands(client, isCluster, key);
  } finally {
    client.disconnect();
  }
}

/** What a connection that failed means: RedisUnusable where trying again cannot help, else the error itself. */
function explain(error: Error & { code?: string }, { access, db, name }: RedisAddress): Error {
  const { message, code = '' } = error;
  const user = access.username ?? 'default';
  if (/^NOAUTH|^WRONGPASS|invalid (username-)?password/.test(message)) {
    const fault = access.password ? `refuses the password of the user ${user}` : 'asks for a password';
    return new RedisUnusable(`Redis ${fault}`, error);
  }
  if (/DB index|SELECT is not allowed|^NOPERM.*select/i.test(message)) {
    return new RedisUnusable(`Redis does not give the database ${db}`, error);
  }
  if (/No such master|invalid reply: null/.test(message)) {
    return new RedisUnusable(`the sentinel does not know a master by the name ${name}`, error);
  }
  if (/^ERR_(SSL|TLS)|CERT|SELF_SIGNED|UNABLE_TO_/.test(code)) {
    return new RedisUnusable('the encrypted connection failed, see the certificates', error);
  }
  return error;
}

// `K` is a key. What the scripts of BullMQ call, what BullMQ and the limits call beside them, what a stream needs.
const needed = `
  info; ping; time; eval return 1 K; evalsha 0 1 K; scan 0; bzpopmin K 1
  del K; exists K; expire K 1; get K; incr K; incrby K 1; persist K; pexpire K 1; pexpireat K 1; pttl K; rename K K
  set K 1; type K; unlink K
  hdel K 1; hexists K 1; hget K 1; hgetall K; hincrby K 1 1; hlen K; hmget K 1; hmset K 1 1; hset K 1 1
  lindex K 1; llen K; lpop K; lpos K 1; lpush K 1; lrange K 0 1; lrem K 1 1; lset K 1 1; ltrim K 0 1; rpop K
  rpoplpush K K; rpush K 1
  sadd K 1; scard K; sismember K 1; smembers K; srem K 1
  xadd K * 1 1; xdel K 1; xlen K; xrange K - +; xread STREAMS K 0; xtrim K MAXLEN 1
  zadd K 1 1; zcard K; zcount K 0 1; zlexcount K - +; zpopmin K; zrange K 0 1; zrangebylex K - +
  zrangebyscore K 0 1; zrem K 1; zremrangebyrank K 0 1; zremrangebyscore K 0 1; zrevrange K 0 1
  zrevrangebyscore K 1 0; zscore K 1`;

/** The commands that the service needs, each with arguments that it would take. */
export function neededCommands(key: string): [string, ...string[]][] {
  return needed.split(/[;\n]/).flatMap((line) => {
    const [command, ...args] = line.trim().split(' ');
    return command
      ? [[command, ...args.map((arg) => (arg === 'K' ? key : arg))] as [string, ...string[]]]
      : [];
  });
}

/** Queues every command in a transaction that is then discarded: Redis checks the rights and does nothing. */
async function checkCommands(client: Redis, isCluster: boolean, key: string): Promise<void> {
  const commands = neededCommands(key);
  if (isCluster) commands.push(['cluster', 'slots']);
  const call = ([name, ...args]: string[]) => [name!, client.call(name!, ...args)] as const;
  // Without a transaction they would be carried out. (EXEC finds none here, and is checked all the same.)
  const refused = await refusals([call(['multi']), call(['discard']), call(['exec'])]);
  if (refused.every(({ name }) => name === 'exec')) {
    refused.push(...(await refusals([call(['multi']), ...commands.map(call), call(['discard'])])));
  }
  if (refused.length === 0) return;
  const moved = refused.find(({ error }) => error.message.startsWith('MOVED'));
  if (moved && !isCluster) {
    throw new RedisUnusable(
      'this is a node of a cluster: write redis+cluster:// or rediss+cluster://',
      moved.error,
    );
  }
  const unknown = refused.filter(({ error }) => /unknown command/i.test(error.message));
  if (unknown.length > 0) {
    throw new RedisUnusable(`Redis has no ${list(unknown)}: it must be 6.2 or newer, and no command renamed`);
  }
  const denied = refused.filter(({ error }) => error.message.startsWith('NOPERM'));
  const away = refused.find(({ error }) => !/^(NOPERM|MOVED|ERR EXEC without MULTI)/.test(error.message));
  if (denied.length === 0) {
    if (away) throw away.error;
    return;
  }
  const keys = denied.filter(({ error }) => /\bkeys?\b/.test(error.message));
  const names = denied.filter((refusal) => !keys.includes(refusal));
  const rights = [
    ...(keys.length > 0 ? [`~${key.replace('check', '*')}`] : []),
    ...names.map(({ name }) => `+${name}`),
  ];
  const user = await client.call('acl', 'whoami').catch(() => client.options.username ?? 'default');
  const faults = [
    ...(names.length > 0 ? [`the command${names.length > 1 ? 's' : ''} ${list(names)}`] : []),
    ...(keys.length > 0 ? [`the keys that begin with ${key.replace('check', '')}`] : []),
  ];
  throw new RedisUnusable(
    `Redis does not allow the user ${user} ${faults.join(' and ')}. ` +
      `What it needs: ACL SETUSER ${user} ${rights.join(' ')}`,
  );
}

const list = (refused: { name: string }[]) => refused.map(({ name }) => name).join(', ');

async function refusals(calls: (readonly [string, Promise<unknown>])[]) {
  const outcomes = await Promise.allSettled(calls.map(([, answer]) => answer));
  return outcomes.flatMap((outcome, index) =>
    outcome.status === 'rejected' ? [{ name: calls[index]![0], error: outcome.reason as Error }] : [],
  );
}
