import { isIPv6 } from 'node:net';

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

const maxAddresses = 10_000;

/** An address of IPv6 by its first four groups: its /64, which one sender usually has. Those behind a `::` are zeros. */
const networkOf = (address: string) =>
  isIPv6(address) ? address.split('::', 1)[0]!.split(':', 4).join(':') : address;

/** A limit per period and address, in this process; an address of IPv6 counts as its /64. */
export function rateLimit({ points, durationS }: { points: number; durationS: number }): RateLimit {
  const counts = new Map<string, number>();
  /** The end of the period by the monotonic clock: a step of the system clock must neither shorten nor extend it. */
  let endsAt = 0;
  const countOf = (address: string) => {
    const leftMs = endsAt - performance.now();
    if (leftMs <= 0 || counts.size > maxAddresses) {
      counts.clear();
      endsAt = performance.now() + durationS * 1000;
    }
    const count = counts.get(networkOf(address)) ?? 0;
    if (count >= points) throw new TooManyRequests(Math.ceil(leftMs / 1000));
    return count;
  };
  return {
    check: (address) => void countOf(address),
    consume: (address) => void counts.set(networkOf(address), countOf(address) + 1),
  };
}
