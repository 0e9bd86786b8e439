import { setTimeout as pause } from 'node:timers/promises';

/**
 * Resolves with the first truthy value of a condition, which is asked again and again.
 *
 * @throws Error when it has not come true in time; the test's name says what was waited for
 */
export async function until<T>(condition: () => T | Promise<T>, withinMs = 20_000): Promise<NonNullable<T>> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const value = await condition();
    if (value) return value as NonNullable<T>;
    if (Date.now() > deadline) throw new Error(`Not true within ${withinMs} ms: ${condition.toString()}`);
    await pause(10);
  }
}
