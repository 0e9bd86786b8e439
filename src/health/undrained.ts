import type { Circuit } from '../receiver/store/circuit.ts';
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
  /** When this database drains if the other shows no sign of life until then. */
  drainsAt: Date | undefined;
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
      return [describeUndrained(await fallback.count(), new Date(seen.oldest), fallback)];
    } catch (error) {
      if (await fallback.circuit.probeAfter(error)) return []; // which reports it
      return [unreadable('deliveries in Redis', 'The log of the workers says why')];
    }
  };
}

/** @param lease of the drain, where another database with the same identity has it */
export function describeUndrained(
  count: number,
  oldest: Date,
  { rival, drainsAt }: Partial<Pick<Fallback, 'rival' | 'drainsAt'>> = {},
): Problem {
  const fix = rival
    ? `Another database with the same identity, ${rival}, drains instead: ${adviceOnRival(drainsAt)}`
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

/** What to do where another database has the lease of the drain. @param drainsAt it shows no sign of life, and has the lease until then */
export const adviceOnRival = (drainsAt: Date | undefined) =>
  drainsAt
    ? `it shows no sign of life. If this one, a restored backup, has replaced it, wait: they are drained from ${drainsAt.toISOString()} ` +
      'on. Otherwise give the copy another QUEUE_PREFIX'
    : 'give the copy another QUEUE_PREFIX';
