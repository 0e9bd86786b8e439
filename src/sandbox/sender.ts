import { createHistogram } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import type { Callback } from './history.ts';
import { type Attempt, type Destination, post } from './post.ts';

export interface SendOptions extends Destination {
  /** Callbacks in flight at once, each on its own connection. Default: 10. */
  readonly connections?: number;
  /** Callbacks per second. Default: no limit. */
  readonly rate?: number | undefined;
  /** Retries after a network error, a time-out, 408, 425, 429 and 5xx, 11 times: about 25 s. Default: no. */
  readonly resendOnFailure?: boolean;
  /** Time-out of a response, milliseconds. Default: 10000. */
  readonly timeoutMs?: number;
  /** When aborted, no more callbacks are taken; the pending responses are awaited. */
  readonly signal?: AbortSignal;
  /** Called after every attempt and awaited before the connection's next one. */
  readonly onAttempt?: (attempt: Attempt, soFar: () => Summary) => void | Promise<void>;
}

const maxAttempts = 12;
const maxRetryAfterMs = 60_000;
const maxBacklogMs = 1_000;

/**
 * Sends callbacks as the platform does (section 4.5), in order if there is only one connection. Takes the next one when
 * a connection is free, so that an endless sequence needs no more memory than a short one. Raises only what `onAttempt`
 * or the sequence raises.
 */
export async function sendCallbacks(callbacks: Iterable<Callback>, options: SendOptions): Promise<Summary> {
  const { connections = 10, timeoutMs = 10_000, signal } = options;
  const tally = startTally();
  const turn = paced(options.rate);
  const sequence = callbacks[Symbol.iterator]();
  let ended = false;

  async function work(): Promise<void> {
    try {
      while (!ended && !signal?.aborted) {
        await turn(signal);
        if (signal?.aborted) return;
        const next = sequence.next();
        if (next.done) return;
        tally.finished(await deliver(next.value));
      }
    } finally {
      // What ends one connection's work ends that of all: the signal, the sequence or an error.
      ended = true;
    }
  }

  async function deliver(callback: Callback): Promise<Attempt> {
    for (let count = 1; ; count++) {
      const attempt = await post(callback, options, { attempt: count, timeoutMs });
      tally.attempted(attempt);
      await options.onAttempt?.(attempt, tally.summary);
      if (!options.resendOnFailure || !isRetryable(attempt)) return attempt;
      if (count >= maxAttempts) return attempt;
      await sleep(waitBefore(attempt), signal);
      if (signal?.aborted) return attempt;
    }
  }

  try {
    await Promise.all(Array.from({ length: connections }, work));
    return tally.summary();
  } finally {
    sequence.return?.();
  }
}

function isRetryable({ acknowledged, status }: Attempt): boolean {
  if (acknowledged) return false;
  return status === undefined || status >= 500 || [408, 425, 429].includes(status);
}

function waitBefore({ attempt, retryAfterMs = 0 }: Attempt): number {
  const backoff = Math.min(100 * 2 ** (attempt - 1), 5_000);
  return Math.min(retryAfterMs, maxRetryAfterMs) + backoff * (0.5 + Math.random() / 2);
}

/** Waits for the next of `perSecond` evenly spaced turns; a late sender catches up one second at most. */
function paced(perSecond: number | undefined) {
  // The first turn is now.
  let turn = performance.now() - 1000 / (perSecond ?? 1);
  return async (signal: AbortSignal | undefined): Promise<void> => {
    if (perSecond === undefined) return;
    const now = performance.now();
    turn = nextTurn(turn, now, perSecond);
    await sleep(turn - now, signal);
  };
}

/** The time of the next turn, on the clock of `now` (milliseconds). */
export function nextTurn(turn: number, now: number, perSecond: number): number {
  return Math.max(turn + 1000 / perSecond, now - maxBacklogMs);
}

/** Ends when the signal aborts, too; raises nothing. */
async function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  // Timers have a resolution of a millisecond.
  if (milliseconds < 1 || signal?.aborted) return;
  await setTimeout(milliseconds, undefined, signal ? { signal } : {}).catch(() => {});
}

export type Summary = ReturnType<ReturnType<typeof startTally>['summary']>;

/** Counts attempts in constant memory. */
function startTally() {
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
      latencyMs: { p50: percentile(50), p99: percentile(99), max: milliseconds(latencies.max) },
      seconds: (performance.now() - began) / 1000,
    }),
  };
}
