import type { Circuit } from '../store/circuit.ts';
import { type Problem, unreadable } from './problem.ts';
import { lateS } from './processing.ts';

/** The fallback store, as far as it matters here. */
interface Fallback {
  /** Redis's circuit. */
  circuit: Pick<Circuit, 'isOpen' | 'probeAfter'>;
  count: () => Promise<number>;
  oldest: () => Promise<Date | undefined>;
  /** Another database with the same identity, which drains. */
  rival: string | undefined;
}

/**
 * Creates a function that finds deliveries that stay in Redis although PostgreSQL is available: the same one has been the
 * oldest for some time. After a long outage, the drain takes long, and each time another is the oldest.
 *
 * @param circuit of PostgreSQL
 * @param afterMs the time
 */
export function createFindUndrained(
  fallback: Fallback | undefined,
  circuit: Pick<Circuit, 'isOpen'>,
  afterMs = lateS * 1000,
): () => Promise<Problem[]> {
  let seen: { oldest: number; at: number } | undefined;
  return async () => {
    if (!fallback || fallback.circuit.isOpen) return [];
    try {
      const first = (await fallback.oldest())?.getTime();
      if (first === undefined || circuit.isOpen) seen = undefined;
      else if (seen?.oldest !== first) seen = { oldest: first, at: performance.now() };
      if (!seen || performance.now() - seen.at < afterMs) return [];
      return [describeUndrained(await fallback.count(), new Date(seen.oldest), fallback.rival)];
    } catch (error) {
      if (await fallback.circuit.probeAfter(error)) return []; // which reports it
      return [unreadable('deliveries in Redis', 'The log of the workers says why')];
    }
  };
}

/** @param rival another database with the same identity, which drains */
export function describeUndrained(count: number, oldest: Date, rival?: string): Problem {
  const fix = rival
    ? `Another database with the same identity, ${rival}, drains instead: give the copy another QUEUE_PREFIX`
    : 'Start a worker (ROLE=all or worker); the log of one that runs says why it does not drain them';
  return {
    kind: 'undrained',
    subject: '',
    status: 'fail',
    title: 'Deliveries in Redis are not drained into PostgreSQL',
    since: oldest,
    detail: `${count} wait, the oldest since ${oldest.toISOString()}, although PostgreSQL is available. ${fix}`,
  };
}
