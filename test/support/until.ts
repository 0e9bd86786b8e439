import { setTimeout as pause } from 'node:timers/promises';

/** A condition that did not become true in time: on a busy machine, that alone proves no fault. See test/run.ts. */
export class NotInTime extends Error {
  constructor(timeoutMs: number, condition: () => unknown) {
    super(`NotInTime: not true within ${timeoutMs} ms: ${condition.toString()}`);
  }
}

/**
 * Polls a condition and resolves with its first truthy value.
 *
 * @param everyMs longer where a look costs much
 * @throws NotInTime after the timeout
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  timeoutMs = 120_000,
  everyMs = 10,
): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value) return value as NonNullable<T>;
    if (Date.now() > deadline) throw new NotInTime(timeoutMs, condition);
    await pause(everyMs);
  }
}
