import { setTimeout as pause } from 'node:timers/promises';

const longestBacklogMs = 1_000;

/** Waits for the next of `perSecond` evenly spaced turns; a late sender catches up at most a second of them. */
export function paced(perSecond: number | undefined) {
  // The first turn is now.
  let turn = performance.now() - 1000 / (perSecond ?? 1);
  return async (signal: AbortSignal | undefined): Promise<void> => {
    if (perSecond === undefined) return;
    const now = performance.now();
    turn = nextTurn(turn, now, perSecond);
    await rest(turn - now, signal);
  };
}

/** The moment of the turn after this one, on the clock of `now` (milliseconds). */
export function nextTurn(turn: number, now: number, perSecond: number): number {
  return Math.max(turn + 1000 / perSecond, now - longestBacklogMs);
}

/** Rests for some milliseconds, or until the signal aborts; raises nothing. */
export async function rest(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  // Timers have a resolution of a millisecond.
  if (milliseconds < 1 || signal?.aborted) return;
  await pause(milliseconds, undefined, signal ? { signal } : {}).catch((error: Error) => {
    if (error.name !== 'AbortError') throw error;
  });
}
