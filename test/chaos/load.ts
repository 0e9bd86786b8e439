import { setTimeout as pause } from 'node:timers/promises';
import type { createHistories } from './histories.ts';

/** Sends callbacks until it is stopped; each until it is acknowledged. @param pauseMs of each of the 16 senders */
export function startLoad(url: string, histories: ReturnType<typeof createHistories>, pauseMs: number) {
  let isSending = true;
  let longestMs = 0;
  const blamed: number[] = [];
  const queue = histories.next();
  const send = async () => {
    for (;;) {
      if (queue.length === 0) {
        if (!isSending) return;
        queue.push(...histories.next());
      }
      const { path, body } = queue.pop()!;
      for (const begun = performance.now(); ; ) {
        const headers = { 'Content-Type': 'application/json' };
        const response = await fetch(url + path, {
          ...{ method: 'POST', headers, body, signal: AbortSignal.timeout(20_000) },
        }).catch(() => undefined);
        if (response && response.status >= 400 && response.status < 500) blamed.push(response.status);
        longestMs = Math.max(longestMs, performance.now() - begun);
        if (response?.status === 200) break;
        await pause(100);
      }
      await pause(pauseMs);
    }
  };
  const sending = Promise.all(Array.from({ length: 16 }, send));
  return {
    /** @returns the statuses that blame the sender, and how long one callback took to be acknowledged */
    stop: async () => {
      isSending = false;
      await sending;
      return { blamed, longestMs: Math.round(longestMs) };
    },
  };
}
