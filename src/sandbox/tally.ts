import { createHistogram } from 'node:perf_hooks';
import type { Attempt } from './post.ts';

/** The result of a run of the sender. */
export interface Summary {
  /** Callbacks taken from the sequence. */
  readonly callbacks: number;
  readonly acknowledged: number;
  /** Valid callbacks that were not acknowledged. */
  readonly unacknowledged: number;
  readonly resends: number;
  /** Attempts by outcome: `200 accepted`, `200 duplicate`, `422`, `ECONNREFUSED`, ... */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Of the attempts with a response, milliseconds. */
  readonly latencyMs: {
    readonly p50: number;
    readonly p95: number;
    readonly p99: number;
    readonly max: number;
  };
  readonly seconds: number;
}

/** Counts attempts in constant memory. */
export function startTally() {
  const began = performance.now();
  const latencies = createHistogram();
  const outcomes: Record<string, number> = {};
  let callbacks = 0;
  let acknowledged = 0;
  let unacknowledged = 0;
  let resends = 0;

  const milliseconds = (nanoseconds: number) => Math.round(nanoseconds / 1e4) / 100;

  return {
    attempted({ outcome, state, status, latencyMs, attempt }: Attempt): void {
      const key = state === undefined ? outcome : `${outcome} ${state}`;
      outcomes[key] = (outcomes[key] ?? 0) + 1;
      if (attempt > 1) resends++;
      if (status !== undefined) latencies.record(Math.max(1, Math.round(latencyMs * 1e6)));
    },
    finished(last: Attempt): void {
      callbacks++;
      if (last.acknowledged) acknowledged++;
      else if (last.callback.invalid === undefined) unacknowledged++;
    },
    summary: (): Summary => ({
      callbacks,
      acknowledged,
      unacknowledged,
      resends,
      outcomes: { ...outcomes },
      latencyMs: {
        p50: milliseconds(latencies.percentile(50)),
        p95: milliseconds(latencies.percentile(95)),
        p99: milliseconds(latencies.percentile(99)),
        max: milliseconds(latencies.max),
      },
      seconds: (performance.now() - began) / 1000,
    }),
  };
}
