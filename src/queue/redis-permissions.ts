import type { Redis } from 'ioredis';

/** Raised where Redis is available but cannot be used with this REDIS_URL; the message says what to change. */
export class RedisUnusable extends Error {
  constructor(problem: string, cause?: Error) {
    super(`REDIS_URL: ${problem}`, { cause });
    this.name = 'RedisUnusable';
  }
}

// `K` is a key. The commands of BullMQ's scripts, of BullMQ itself, of the rate limits and of the fallback stream.
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

type Command = [name: string, ...args: string[]];

interface Rejection {
  name: string;
  error: Error;
}

/** The commands that the receiver needs, each with valid arguments. */
export function neededCommands(key: string): Command[] {
  return needed.split(/[;\n]/).flatMap((line) => {
    const [command, ...args] = line.trim().split(' ');
    return command ? [[command, ...args.map((arg) => (arg === 'K' ? key : arg))] as Command] : [];
  });
}

/**
 * Queues every needed command in a transaction and discards it: Redis checks the permissions and runs nothing.
 *
 * @param key ends in `check`; the receiver's keys begin with what precedes that
 * @throws RedisUnusable; Redis's error where it rejects a command for another reason than a permission
 */
export async function checkPermissions(client: Redis, isCluster: boolean, key: string): Promise<void> {
  const rejected = await findRejections(client, isCluster, key);
  const moved = rejected.find(({ error }) => error.message.startsWith('MOVED'));
  if (moved && !isCluster) {
    throw new RedisUnusable(
      'this is a node of a cluster: write redis+cluster:// or rediss+cluster://',
      moved.error,
    );
  }
  const unknown = rejected.filter(({ error }) => /unknown command/i.test(error.message));
  if (unknown.length > 0) {
    throw new RedisUnusable(
      `Redis has no ${listNames(unknown)}: version 6.2 or newer is required, without renamed commands`,
    );
  }
  const denied = rejected.filter(({ error }) => error.message.startsWith('NOPERM'));
  if (denied.length > 0) throw new RedisUnusable(await describeDenied(client, denied, key));
  const other = rejected.find(({ error }) => !/^(MOVED|ERR EXEC without MULTI)/.test(error.message));
  if (other) throw other.error;
}

async function findRejections(client: Redis, isCluster: boolean, key: string): Promise<Rejection[]> {
  const commands = neededCommands(key);
  if (isCluster) commands.push(['cluster', 'slots']);
  // Without permission for transactions the commands would run. (EXEC has no transaction here, but is checked.)
  const rejected = await callAll(client, [['multi'], ['discard'], ['exec']]);
  if (rejected.some(({ name }) => name !== 'exec')) return rejected;
  return [...rejected, ...(await callAll(client, [['multi'], ...commands, ['discard']]))];
}

async function callAll(client: Redis, commands: Command[]): Promise<Rejection[]> {
  const outcomes = await Promise.allSettled(commands.map(([name, ...args]) => client.call(name, ...args)));
  return outcomes.flatMap((outcome, index) =>
    outcome.status === 'rejected' ? [{ name: commands[index]![0], error: outcome.reason as Error }] : [],
  );
}

/** The missing permissions, and the command that grants them. */
async function describeDenied(client: Redis, denied: Rejection[], key: string): Promise<string> {
  const keys = denied.filter(({ error }) => /\bkeys?\b/.test(error.message));
  const commands = denied.filter((rejection) => !keys.includes(rejection));
  const user = await client.call('acl', 'whoami').catch(() => client.options.username ?? 'default');
  const missing = [
    ...(commands.length > 0 ? [`the command${commands.length > 1 ? 's' : ''} ${listNames(commands)}`] : []),
    ...(keys.length > 0 ? [`the keys that begin with ${key.replace('check', '')}`] : []),
  ];
  const rules = [
    ...(keys.length > 0 ? [`~${key.replace('check', '*')}`] : []),
    ...commands.map(({ name }) => `+${name}`),
  ];
  return (
    `Redis does not permit the user ${user} ${missing.join(' and ')}. ` +
    `Run: ACL SETUSER ${user} ${rules.join(' ')}`
  );
}

const listNames = (rejected: Rejection[]) => rejected.map(({ name }) => name).join(', ');
