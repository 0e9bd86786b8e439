import { setTimeout as pause } from 'node:timers/promises';

/** Waits until a queue is empty or the time is over. @returns how many are left */
export async function untilEmpty(waiting: () => Promise<number>, seconds: number): Promise<number> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const left = await waiting();
    if (left === 0 || Date.now() > deadline) return left;
    await pause(25);
  }
}
