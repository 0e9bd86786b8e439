import { setTimeout } from 'node:timers/promises';

const maxBacklogMs = 1_000;

/** Waits for the next of `perSecond` evenly spaced turns; a late sender catches up one second at most. */
export function paced(perSecond: number | undefined) {
  // The first turn is now.
  let turn = performance.now() - 1000 / (perSecond ?? 1);
  return async (signal: AbortSignal | undefined): Promise<void> => {
    if (perSecond === undefined) return;
    const now = performance.now();
    turn = nextTurn(turn, now, perSecond);
    await sleep(turn - now, signal);
  };
}

/** The time of the next turn, on the clock of `now` (milliseconds). */
export function nextTurn(turn: number, now: number, perSecond: number): number {
  return Math.max(turn + 1000 / perSecond, now - maxBacklogMs);
}

/** Ends when the signal aborts, too; raises nothing. */
export async function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  // Timers have a resolution of a millisecond.
  if (milliseconds < 1 || signal?.aborted) return;
  await setTimeout(milliseconds, undefined, signal ? { signal } : {}).catch(() => {});
}
