import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../support/until.ts';
import type { createHistories } from './histories.ts';

/**
 * Sends callbacks until it is stopped; each until one of the receivers has acknowledged it.
 *
 * @param pauseMs of each of the 16 senders
 */
export function startLoad(
  urls: () => readonly string[],
  histories: ReturnType<typeof createHistories>,
  pauseMs: number,
) {
  let isSending = true;
  let longestMs = 0;
  let [acknowledged, unanswered] = [0, 0];
  const blamed: number[] = [];
  const queue = histories.next();
  const send = async () => {
    for (;;) {
      if (queue.length === 0) {
        if (!isSending) return;
        queue.push(...histories.next());
      }
      const { path, body } = queue.pop()!;
      const begun = performance.now();
      while (!(await sendToOne(path, body))) {
        unanswered += 1;
        await pause(100);
      }
      acknowledged += 1;
      longestMs = Math.max(longestMs, performance.now() - begun);
      await pause(pauseMs);
    }
  };
  /** As a proxy in front of several receivers does. */
  const sendToOne = async (path: string, body: string) => {
    for (const url of urls()) {
      const headers = { 'Content-Type': 'application/json' };
      const response = await fetch(url + path, {
        ...{ method: 'POST', headers, body, signal: AbortSignal.timeout(20_000) },
      }).catch(() => undefined);
      if (response?.status === 200) return true;
      if (response && response.status >= 400 && response.status < 500) blamed.push(response.status);
    }
    return false;
  };
  const sending = Promise.all(Array.from({ length: 16 }, send));
  return {
    acknowledged: () => acknowledged,
    unanswered: () => unanswered,
    /** Resolves once so many more are acknowledged. */
    more: (count: number) => {
      const wanted = acknowledged + count;
      return until(() => acknowledged >= wanted);
    },
    /**
     * @returns the statuses that blame the sender, how many attempts no receiver took, and how long the slowest callback took to be
     * acknowledged
     */
    stop: async () => {
      isSending = false;
      await sending;
      return { blamed, unanswered, longestMs: Math.round(longestMs) };
    },
  };
}
