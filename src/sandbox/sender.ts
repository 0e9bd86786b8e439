import { setTimeout } from 'node:timers/promises';
import { Agent } from 'undici';
import type { Callback } from './history.ts';
import { type Attempt, type Destination, post } from './post.ts';
import { type Summary, startTally } from './tally.ts';

export interface SendOptions extends Destination {
  /** A socket file to connect to, instead of the URL's host and port. */
  readonly socketPath?: string | undefined;
  /** Callbacks in flight at once, each on its own connection. Default: 10. */
  readonly connections?: number;
  /** Callbacks per second. Default: no limit. */
  readonly rate?: number | undefined;
  /** Retries after a network error, a time-out, 408, 425, 429 and 5xx. Default: no. */
  readonly resendOnFailure?: boolean;
  /** Attempts per callback, the first included. Default: 12, about 25 seconds without Retry-After. */
  readonly maxAttempts?: number;
  /** Time-out of a response, milliseconds, accurate to a second. Default: 10000. */
  readonly timeoutMs?: number;
  /** When aborted, no more callbacks are taken; the pending responses are awaited. */
  readonly signal?: AbortSignal;
  /** Called after every attempt and awaited before the connection's next one. */
  readonly onAttempt?: (attempt: Attempt, soFar: () => Summary) => void | Promise<void>;
}

const maxResponseBytes = 64 * 1024;
const maxRetryAfterMs = 60_000;
const maxBacklogMs = 1_000;

/**
 * Sends callbacks as the platform does (section 4.5), in order if there is only one connection. Takes the next one when
 * a connection is free, so that an endless sequence needs no more memory than a short one. Raises only what `onAttempt`
 * or the sequence raises.
 */
export async function sendCallbacks(
  callbacks: Iterable<Callback> | AsyncIterable<Callback>,
  options: SendOptions,
): Promise<Summary> {
  const { connections = 10, socketPath = null, timeoutMs = 10_000, signal } = options;
  const agent = new Agent({
    connections,
    maxResponseSize: maxResponseBytes,
    connect: { timeout: timeoutMs, socketPath },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  const tally = startTally();
  const turn = paced(options.rate);
  const sequence =
    Symbol.asyncIterator in callbacks ? callbacks[Symbol.asyncIterator]() : callbacks[Symbol.iterator]();
  let ended = false;

  async function work(): Promise<void> {
    try {
      while (!ended && !signal?.aborted) {
        await turn(signal);
        if (signal?.aborted) return;
        const next = await sequence.next();
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
      const attempt = await post(agent, callback, options, count);
      tally.attempted(attempt);
      await options.onAttempt?.(attempt, tally.summary);
      if (!options.resendOnFailure || !isRetryable(attempt)) return attempt;
      if (count >= (options.maxAttempts ?? 12)) return attempt;
      await sleep(waitBefore(attempt), signal);
      if (signal?.aborted) return attempt;
    }
  }

  try {
    await Promise.all(Array.from({ length: connections }, work));
    return tally.summary();
  } finally {
    await sequence.return?.();
    await agent.close();
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
export async function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  // Timers have a resolution of a millisecond.
  if (milliseconds < 1 || signal?.aborted) return;
  await setTimeout(milliseconds, undefined, signal ? { signal } : {}).catch(() => {});
}
