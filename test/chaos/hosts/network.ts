import { execFile, execFileSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const hosts = ['stores', 'first', 'second'] as const;

export type Host = (typeof hosts)[number];

/** A host, or the sender, which is this process. */
type End = Host | 'sender';

const ends: readonly End[] = ['sender', ...hosts];

const lossRule = (share: number) => `-A FORWARD -m statistic --mode random --probability ${share} -j DROP`;

/** Hosts made of network namespaces, and a router between them where all their packets can be dropped. */
export interface Network {
  /** Of a host, for the others and for this process. */
  addressOf: (host: Host) => string;
  /** All addresses. */
  subnet: string;
  /** The start of a command line that runs a program on a host. */
  on: (host: Host) => string[];
  /** Drops all packets from one end to another. Neither learns of it; the returned function ends it. */
  drop: (from: End, to: End) => Promise<() => Promise<void>>;
  /** Drops packets at random between all ends, a share from 0 to 1. */
  lose: (share: number) => Promise<void>;
  /** Unplugs a host; the returned function plugs it in again. */
  unplug: (host: Host) => Promise<() => Promise<void>>;
  /** Limits what a host receives, in kbit/s; the returned function ends it. */
  narrow: (host: Host, kilobits: number) => Promise<() => Promise<void>>;
  /** Makes a host vanish with its connections, without a last packet. Its processes must have been killed. */
  crash: (host: Host) => void;
  /** The host again, without connections. */
  boot: (host: Host) => void;
  /** With the processes that still run there. */
  remove: () => void;
}

/** @throws Error where this process may not make network namespaces, or lacks `ip`, `tc` or `iptables` */
export function createNetwork(): Network {
  const suffix = randomBytes(3).toString('hex');
  const namespaceOf = (name: Host | 'router') => `${name}-${suffix}`;
  const router = namespaceOf('router');
  const inRouter = ['netns', 'exec', router];
  // Of the range for benchmarks (RFC 2544), which no network uses otherwise; four addresses for each end.
  const prefix = `198.18.${randomInt(256)}`;
  const gatewayOf = (end: End) => `${prefix}.${4 * ends.indexOf(end) + 1}`;
  const addressOf = (end: End) => `${prefix}.${4 * ends.indexOf(end) + 2}`;
  const subnet = `${prefix}.0/24`;
  const drops = new Set<string>();
  let lostShare = 0;

  const ip = (...args: string[]) =>
    execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'], env: process.env });
  const connect = (end: End, device: string, own: string[]) => {
    const namespace = own[1] ? ['netns', own[1]] : [];
    ip('link', 'add', 'name', end, 'netns', router, 'type', 'veth', 'peer', 'name', device, ...namespace);
    ip('-n', router, 'addr', 'add', `${gatewayOf(end)}/30`, 'dev', end);
    ip('-n', router, 'link', 'set', end, 'up');
    ip(...own, 'addr', 'add', `${addressOf(end)}/30`, 'dev', device);
    ip(...own, 'link', 'set', device, 'up');
    ip(...own, 'route', 'add', end === 'sender' ? subnet : 'default', 'via', gatewayOf(end));
  };
  const boot = (host: Host) => {
    const namespace = namespaceOf(host);
    ip('netns', 'add', namespace);
    ip('-n', namespace, 'link', 'set', 'lo', 'up');
    connect(host, 'eth0', ['-n', namespace]);
  };
  const crash = (host: Host) => {
    // Without its link the kernel cannot say goodbye for the killed processes.
    ip('-n', router, 'link', 'del', host);
    ip('netns', 'del', namespaceOf(host));
  };
  // One at a time: each replaces all rules.
  let applied: Promise<unknown> = Promise.resolve();
  const applyRules = async () => {
    applied = applied.then(() => {
      const loss = lostShare > 0 ? [lossRule(lostShare)] : [];
      const restoring = run('ip', [...inRouter, 'iptables-restore']);
      restoring.child.stdin!.end(['*filter', ...drops, ...loss, 'COMMIT', ''].join('\n'));
      return restoring;
    });
    await applied;
  };
  const undoing = async (command: (value: string) => string[], [doIt, undo]: [string, string]) => {
    await run('ip', command(doIt));
    return async () => void (await run('ip', command(undo)));
  };
  const remove = () => {
    for (const host of ['router', ...hosts] as const) {
      try {
        const running = ip('netns', 'pids', namespaceOf(host)).toString().split('\n').filter(Boolean);
        for (const pid of running) process.kill(Number(pid), 'SIGKILL');
        ip('netns', 'del', namespaceOf(host));
      } catch {
        // It was not created, or has crashed.
      }
    }
  };

  try {
    ip('netns', 'add', router);
    ip(...inRouter, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
    ip(...inRouter, 'tc', '-V');
    ip(...inRouter, 'iptables', ...lossRule(0).split(' '));
    connect('sender', `send-${suffix}`, []);
    for (const host of hosts) boot(host);
  } catch (error) {
    remove();
    throw new Error('Network namespaces need root, and the programs ip, tc and iptables.', { cause: error });
  }
  return {
    addressOf,
    subnet,
    on: (host) => ['ip', 'netns', 'exec', namespaceOf(host)],
    drop: async (from, to) => {
      const rule = `-A FORWARD -s ${addressOf(from)} -d ${addressOf(to)} -j DROP`;
      drops.add(rule);
      await applyRules();
      return async () => {
        drops.delete(rule);
        await applyRules();
      };
    },
    lose: async (share) => {
      lostShare = share;
      await applyRules();
    },
    unplug: (host) => undoing((value) => ['-n', router, 'link', 'set', host, value], ['down', 'up']),
    narrow: async (host, kilobits) => {
      const qdisc = (act: string, ...rest: string[]) =>
        run('tc', ['-n', router, 'qdisc', act, 'dev', host, 'root', ...rest]);
      await qdisc('add', 'tbf', 'rate', `${kilobits}kbit`, 'burst', '10kb', 'latency', '300ms');
      return async () => void (await qdisc('del'));
    },
    crash,
    boot,
    remove,
  };
}

/** Whether this process may make network namespaces. */
export function mayCreateNetwork(): boolean {
  try {
    createNetwork().remove();
    return true;
  } catch {
    return false; // an ordinary user, a container, or a program is missing
  }
}
