import { setTimeout as pause } from 'node:timers/promises';

/**
 * Polls a condition and resolves with its first truthy value.
 *
 * @param everyMs longer where a look costs much
 * @throws Error after the timeout
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  timeoutMs = 60_000,
  everyMs = 10,
): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value) return value as NonNullable<T>;
    if (Date.now() > deadline) throw new Error(`Not true within ${timeoutMs} ms: ${condition.toString()}`);
    await pause(everyMs);
  }
}
