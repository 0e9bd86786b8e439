import { createHistogram } from 'node:perf_hooks';
import type { Attempt } from './post.ts';

export type Summary = ReturnType<ReturnType<typeof startTally>['summary']>;

/** Counts attempts in constant memory. */
export function startTally() {
  const began = performance.now();
  const latencies = createHistogram();
  const outcomes: Record<string, number> = {};
  const counts = {
    /** Callbacks taken from the sequence. */
    callbacks: 0,
    acknowledged: 0,
    /** Valid callbacks that were not acknowledged. */
    unacknowledged: 0,
    resends: 0,
  };

  const milliseconds = (nanoseconds: number) => Math.round(nanoseconds / 1e4) / 100;
  const percentile = (percent: number) => milliseconds(latencies.percentile(percent));

  return {
    attempted({ outcome, state, status, latencyMs, attempt }: Attempt): void {
      const key = state === undefined ? outcome : `${outcome} ${state}`;
      outcomes[key] = (outcomes[key] ?? 0) + 1;
      if (attempt > 1) counts.resends++;
      if (status !== undefined) latencies.record(Math.max(1, Math.round(latencyMs * 1e6)));
    },
    finished(last: Attempt): void {
      counts.callbacks++;
      if (last.acknowledged) counts.acknowledged++;
      else if (last.callback.invalid === undefined) counts.unacknowledged++;
    },
    summary: () => ({
      ...counts,
      /** Attempts by outcome: `200 accepted`, `200 duplicate`, `422`, `ECONNREFUSED`, ... */
      outcomes: { ...outcomes },
      /** The latencies of the attempts with a response, milliseconds. */
      latencyMs: {
        p50: percentile(50),
        p95: percentile(95),
        p99: percentile(99),
        max: milliseconds(latencies.max),
      },
      seconds: (performance.now() - began) / 1000,
    }),
  };
}
