import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import type { Observer } from '../common/observer.ts';
import type { Db } from '../store/tables.ts';
import { type Attempt, addAttempts, toAttempt } from './attempt-table.ts';
import { type Destination, setState } from './destination-table.ts';
import { type Lease, renewLease } from './lease.ts';
import { createPace, manyFailures } from './pace.ts';
import { isAccepted, type Outcome, post } from './post.ts';
import type { SourceChange } from './source.ts';
import { toMessage } from './to-message.ts';
import { dueNow } from './waiting-table.ts';

export interface SenderTimes {
  /** How long a destination may take to answer. */
  timeoutMs: number;
  leaseMs: number;
  /** After failures for so long a destination is paused. */
  failingMs: number;
}

export interface SenderDependencies {
  db: Db;
  dispatcher: Dispatcher;
  lease: Lease;
  /** When it was asked for: performance.now(). */
  leasedAt: number;
  times: SenderTimes;
  observe?: Pick<Observer, 'webhook'> | undefined;
}

/** Raised where nothing may be sent any more: a stop, a lease that may end before an answer, a destination that wants no more. */
export class NotSent extends Error {}

/** How many attempts are kept of the time between two notes. */
const mostNoted = 20;

/** Sends the changes of a destination, under its lease and at its pace. */
export function createSender(
  begun: Destination,
  { db, dispatcher, lease, leasedAt, times, observe }: SenderDependencies,
) {
  const { id } = begun;
  const cutting = new AbortController();
  setMaxListeners(0, cutting.signal);
  let isFailing = begun.failingMs !== null;
  const pace = createPace(begun.maxInFlight, isFailing);
  let destination = begun;
  let leasedUntil = leasedAt + times.leaseMs;
  let attempts: Attempt[] = [];
  let delivered = 0;
  let failures = 0;

  return {
    pace,
    /** Whether something was accepted since the last note. */
    hasDelivered: () => delivered > 0,
    /** Ends the requests in progress. */
    cut: () => cutting.abort(),

    /** @throws NotSent, the database's error */
    send: async (change: SourceChange): Promise<Outcome> => {
      if (cutting.signal.aborted || performance.now() + times.timeoutMs > leasedUntil) throw new NotSent();
      const message = toMessage(change);
      const { url, secrets } = destination;
      const options = { dispatcher, timeoutMs: times.timeoutMs, signal: cutting.signal };
      const outcome = await post(url, message, secrets, options);
      isFailing = !isAccepted(outcome);
      failures = isFailing ? failures + 1 : 0;
      if (cutting.signal.aborted && isFailing) throw new NotSent();
      observe?.webhook?.(outcome.status);
      if (!isFailing) delivered += 1;
      if (isFailing || attempts.length === 0) attempts.push(toAttempt(message, outcome));
      attempts = attempts.slice(-mostNoted);
      const isBack = pace.isFailing() && !isFailing;
      pace.note(outcome);
      if (isBack) await dueNow(db, id);
      if (outcome.status === 410) {
        await setState(db, id, 'disabled', 'It answered 410: it wants no more');
        throw new NotSent();
      }
      return outcome;
    },

    /**
     * Notes what was done, and prolongs the lease.
     *
     * @param cursor undefined: it has not moved
     * @returns whether to go on
     */
    note: async (cursor: string | undefined): Promise<boolean> => {
      const now = performance.now();
      const done = { cursor, delivered, isFailing };
      const noted = attempts;
      [attempts, delivered] = [[], 0];
      await addAttempts(db, id, noted);
      const current = await renewLease(db, lease, done);
      if (!current) return false;
      leasedUntil = now + times.leaseMs;
      destination = current;
      // A day without a worker is no failure of the destination.
      const isGivenUp = failures >= manyFailures && (current.failingMs ?? 0) > times.failingMs;
      if (!isGivenUp) return current.state === 'active';
      await setState(db, id, 'paused', 'It accepted nothing for a day');
      return false;
    },
  };
}
