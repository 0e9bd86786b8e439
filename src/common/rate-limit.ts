import { networkOf } from './networks.ts';

/** An address has reached its limit. */
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

interface Period {
  count: number;
  /** By the monotonic clock: a step of the system clock must neither shorten nor extend a period. */
  endsAt: number;
}

const maxSources = 10_000;

/**
 * A limit per period and address, in this process; an address of IPv6 counts as its /64.
 *
 * @param points how many requests are allowed in a period; further ones have to wait for its end
 */
export function rateLimit({ points, durationS }: { points: number; durationS: number }): RateLimit {
  const durationMs = durationS * 1000;
  const periods = new Map<string, Period>();
  const periodOf = (source: string): Period | undefined => {
    const period = periods.get(source);
    if (!period || performance.now() < period.endsAt) return period;
    periods.delete(source);
    return undefined;
  };
  const begin = (source: string): Period => {
    const [first] = periods.keys();
    // The oldest period is the next to end.
    if (periods.size >= maxSources) periods.delete(first!);
    const period = { count: 0, endsAt: performance.now() + durationMs };
    periods.set(source, period);
    return period;
  };
  const checkSource = (source: string) => {
    const period = periodOf(source);
    if (!period || period.count < points) return;
    throw new TooManyRequests(Math.ceil((period.endsAt - performance.now()) / 1000));
  };
  return {
    check: (address) => checkSource(networkOf(address)),
    consume: (address) => {
      const source = networkOf(address);
      checkSource(source);
      const period = periodOf(source) ?? begin(source);
      period.count += 1;
    },
  };
}
