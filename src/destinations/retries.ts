const [secondMs, minuteMs, hourMs] = [1_000, 60_000, 3_600_000];

/** Pauses after the first attempt, the second and so on; the last is repeated until the record is given up. */
const pausesMs = [
  5 * secondMs,
  30 * secondMs,
  2 * minuteMs,
  10 * minuteMs,
  30 * minuteMs,
  hourMs,
  2 * hourMs,
  4 * hourMs,
  8 * hourMs,
  12 * hourMs,
];

/** How long a record is tried, from its first failure. */
export const triedForMs = 72 * hourMs;
/** An answer cannot ask for more. */
const longestWaitMs = 24 * hourMs;

/**
 * How long a record waits for its next attempt.
 *
 * @param attempts those that have failed, from 1
 * @param random from 0 to 1: many that failed together do not come back together
 */
export function retryPauseMs(
  attempts: number,
  retryAfterMs: number | undefined,
  random = Math.random(),
): number {
  const pauseMs = pausesMs[Math.min(attempts, pausesMs.length) - 1]!;
  // Never earlier than the answer asks.
  return Math.max(pauseMs * (0.8 + 0.4 * random), Math.min(retryAfterMs ?? 0, longestWaitMs));
}
