import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../src/sandbox/random.ts';
import type { Deployment } from '../deployment.ts';
import type { Fault } from '../faults.ts';
import type { LinkConditions, TcpProxy } from '../tcp-proxy.ts';
import { both, longMs } from './outages.ts';

/** One link: to PostgreSQL, to Redis, or between the sender and a receiver. */
const pickLink = ({ link, redisLink, senderLinks }: Deployment, random: Random): TcpProxy =>
  random.pick([link, ...(redisLink ? [redisLink] : []), ...senderLinks]);

async function during(link: TcpProxy, conditions: LinkConditions): Promise<void> {
  link.set(conditions);
  try {
    await pause(longMs);
  } finally {
    link.set({});
  }
}

const on =
  (conditions: (random: Random) => LinkConditions): Fault['inject'] =>
  (deployment, random) =>
    during(pickLink(deployment, random), conditions(random));

const inject: Record<string, Fault['inject']> = {
  'latency and jitter': on((random) => ({ delayMs: random.between(5, 150), jitterMs: 300 })),
  'data in small pieces, each with a delay of its own': on((random) => ({
    pieceBytes: random.between(1, 40),
    jitterMs: 5,
  })),
  'little bandwidth': on((random) => ({ bytesPerSecond: random.between(2_000, 50_000) })),
  'one direction silent for 3 s': on((random) => ({ stalled: random.pick(['there', 'back']) })),
  'both directions and new connections silent for 3 s': on(() => ({ stalled: 'both' })),
  'half-open connections': async (deployment, random) => {
    pickLink(deployment, random).halfOpen();
  },
  'new connections refused for 3 s': async (deployment, random) => {
    const link = pickLink(deployment, random);
    link.cut();
    await pause(longMs);
    await link.restore();
  },
};

/** Links that are bad, between two of sender, receiver, worker and stores. */
export const networkFaults: Fault[] = Object.entries(inject).map(([name, inject]) => ({
  name,
  backends: both,
  inject,
}));
