import { networkOf } from './networks.ts';

export class TooManyRequests extends Error {
  readonly retryAfterS: number;
  constructor(retryAfterS: number) {
    super('Too many requests from this address.');
    this.name = 'TooManyRequests';
    this.retryAfterS = retryAfterS;
  }
}

export interface RateLimit {
  /** @throws TooManyRequests if the address has reached its limit */
  check: (address: string) => void;
  /** Counts one request of an address. @throws TooManyRequests if it has reached its limit */
  consume: (address: string) => void;
}

const maxPeriods = 10_000;

/** A limit per period and address, in this process; an address of IPv6 counts as its /64. */
export function rateLimit({ points, durationS }: { points: number; durationS: number }): RateLimit {
  /** By the monotonic clock: a step of the system clock must neither shorten nor extend a period. */
  const periods = new Map<string, { count: number; endsAt: number }>();
  const periodOf = (address: string) => {
    const period = periods.get(networkOf(address));
    const leftMs = period ? period.endsAt - performance.now() : 0;
    if (!period || leftMs <= 0) return undefined;
    if (period.count >= points) throw new TooManyRequests(Math.ceil(leftMs / 1000));
    return period;
  };
  return {
    check: (address) => void periodOf(address),
    consume: (address) => {
      const period = periodOf(address);
      if (period) {
        period.count += 1;
        return;
      }
      const source = networkOf(address);
      const [oldest] = periods.keys();
      if (!periods.delete(source) && periods.size >= maxPeriods) periods.delete(oldest!);
      // Behind the others: the first is the next to end.
      periods.set(source, { count: 1, endsAt: performance.now() + durationS * 1000 });
    },
  };
}
