import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../src/sandbox/random.ts';
import { both, longMs } from '../faults/outages.ts';
import type { Fault } from '../faults.ts';
import type { HostsDeployment } from './deployment.ts';
import type { Host } from './network.ts';

type Inject = Fault<HostsDeployment>['inject'];

const receiving = (random: Random): Host => random.pick(['first', 'second']);

/** Runs a function between failures and their repair. */
async function during<T>(undoing: Promise<() => Promise<void>>[], run: () => Promise<T>): Promise<T> {
  const undo = await Promise.all(undoing);
  try {
    return await run();
  } finally {
    for (const one of undo) await one();
  }
}

const crash =
  (choose: (random: Random) => Host): Inject =>
  async ({ crash, boot }, random) => {
    const host = choose(random);
    await crash(host);
    try {
      await pause(random.between(500, longMs));
    } finally {
      await boot(host);
    }
  };

const inject: Record<string, Inject> = {
  'link of a receiving host to the stores cut': ({ network }, random) => {
    const host = receiving(random);
    return during([network.drop(host, 'stores'), network.drop('stores', host)], () => pause(longMs));
  },
  'the same in one direction': ({ network }, random) => {
    const host = receiving(random);
    const cut = random.chance(0.5) ? network.drop(host, 'stores') : network.drop('stores', host);
    return during([cut], () => pause(longMs));
  },
  'both links to the stores cut': ({ network }) => {
    const cuts = (['first', 'second'] as const).flatMap((host) => [
      network.drop(host, 'stores'),
      network.drop('stores', host),
    ]);
    return during(cuts, () => pause(longMs));
  },
  'both links to the stores flapping': async ({ network }, random) => {
    for (let times = 0; times < 8; times += 1) {
      const cuts = (['first', 'second'] as const).map((host) => network.drop(host, 'stores'));
      await during(cuts, () => pause(random.between(100, 500)));
      await pause(random.between(100, 500));
    }
  },
  'responses of a receiving host lost': ({ network }, random) =>
    during([network.drop(receiving(random), 'sender')], () => pause(longMs)),
  'a receiving host unplugged': ({ network }, random) =>
    during([network.unplug(receiving(random))], () => pause(longMs)),
  'stores unplugged': ({ network }) => during([network.unplug('stores')], () => pause(longMs)),
  '1 Mbit/s to the stores': ({ network }) => during([network.narrow('stores', 1_000)], () => pause(longMs)),
  'a receiving host vanishes and comes back': crash(receiving),
  'the host of the stores vanishes and comes back': crash(() => 'stores'),
};

/** Failures of links and of whole hosts, at random moments. */
export const hostFaults: Fault<HostsDeployment>[] = Object.entries(inject).map(([name, inject]) => ({
  name,
  backends: both,
  inject,
}));
