import { isAccepted, type Outcome } from './post.ts';

/** The endpoint, or what is in front of it, is overloaded. */
const overloaded = [429, 502, 503, 504];
/** Other failures in a row are those of the destination, and not of its records. */
export const manyFailures = 5;
const [shortestPauseMs, longestPauseMs, longestAskedMs] = [1_000, 5 * 60_000, 60 * 60_000];

export type Pace = ReturnType<typeof createPace>;

/**
 * How fast a destination is sent to: fewer requests at a time once it is overloaded or has failed several times in a row, and
 * growing pauses while it goes on. Each success permits one more request at a time.
 *
 * @param most requests at the same time
 * @param isFailing whether it failed when it was last sent to
 * @param clock milliseconds, monotonic
 */
export function createPace(most: number, isFailing: boolean, clock = () => performance.now()) {
  let limit = isFailing ? 1 : most;
  let failures = isFailing ? manyFailures : 0;
  let pauses = 0;
  let until = Number.NEGATIVE_INFINITY;
  return {
    /** How many requests there may be now. */
    limit: () => (clock() < until ? 0 : limit),
    /** How long until there may be one. */
    waitMs: () => Math.max(0, until - clock()),
    /** Whether nothing was accepted for several attempts. */
    isFailing: () => failures >= manyFailures,
    note: (outcome: Outcome): void => {
      if (isAccepted(outcome)) {
        [failures, pauses] = [0, 0];
        limit = Math.min(limit + 1, most);
        return;
      }
      failures += 1;
      const isOverloaded = overloaded.includes(outcome.status ?? 0);
      if (!isOverloaded && failures < manyFailures) return;
      const askedMs = Math.min((isOverloaded && outcome.retryAfterMs) || 0, longestAskedMs);
      // Requests that were under way together fail together: they are one reason for a pause.
      if (clock() < until) {
        until = Math.max(until, clock() + askedMs);
        return;
      }
      limit = failures >= manyFailures ? 1 : Math.max(1, Math.floor(limit / 2));
      until = clock() + Math.max(askedMs, Math.min(shortestPauseMs * 2 ** pauses, longestPauseMs));
      pauses += 1;
    },
  };
}
