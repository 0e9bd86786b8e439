import { setTimeout as sleep } from 'node:timers/promises';

/** A pause that ends early when the signal is aborted. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {});
