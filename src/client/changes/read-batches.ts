import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { type Connection, call, parse } from '../call.ts';
import { ReadFromBeginning, Rejected, ServiceError, Unavailable } from '../errors.ts';
import { changesOperation } from './operation.ts';
import { StreamHeldBack, streamBatches } from './stream-batches.ts';

export type AnyChange = z.output<typeof changesOperation.response>['changes'][number];

/** Changes that came together, and the cursor behind them. */
export interface Batch<C = AnyChange> {
  readonly changes: readonly C[];
  readonly next: string;
}

export interface Pauses {
  /** Between two pages, where changes cannot be streamed. */
  readonly pollMs: number;
  /** How long pages are read before a stream is tried again. */
  readonly unstreamedMs: number;
}

/**
 * Reads pages until there are no more, then a stream; pages again once it ends. An outage is retried for as long as it takes.
 * Raises a ServiceError that no retry can mend, or the signal's reason.
 *
 * @param streams the connection for streams
 */
export async function* readBatches(
  pages: Connection,
  streams: Connection,
  input: z.input<typeof changesOperation.request>,
  { pollMs, unstreamedMs }: Pauses,
  signal: AbortSignal | undefined,
): AsyncGenerator<Batch, void> {
  let { after } = parse(changesOperation.request, input, { operation: changesOperation.name });
  let failures = 0;
  let streamFrom = Number.NEGATIVE_INFINITY;
  for (;;) {
    try {
      for (let more = true; more; ) {
        const page = await call(pages, changesOperation, { ...input, after }, signal ? { signal } : {});
        failures = 0;
        after = page.next;
        yield page;
        more = page.more;
      }
      if (performance.now() >= streamFrom) {
        for await (const batch of streamBatches(streams, { ...input, after }, signal)) {
          after = batch.next;
          yield batch;
        }
      }
      // Streams that a restart has ended come back one by one.
      await pause(pollMs * Math.random(), signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof StreamHeldBack) {
        streamFrom = performance.now() + unstreamedMs;
        continue;
      }
      if (!isTemporary(error)) throw isGone(error) ? new ReadFromBeginning(error) : error;
      const { firstPauseMs, longestPauseMs } = pages.retry;
      const bound = Math.min(firstPauseMs * 2 ** failures++, longestPauseMs);
      const pauseMs = (error.retryAfterMs ?? bound / 2) + (Math.random() * bound) / 2;
      pages.onRetry?.(error, pauseMs);
      await pause(pauseMs, signal);
    }
  }
}

const isGone = (error: unknown): error is Rejected => error instanceof Rejected && error.status === 410;

const isTemporary = (error: unknown): error is ServiceError =>
  error instanceof Unavailable ||
  (error instanceof ServiceError && (error.status === 429 || error.status === 408));

/** @throws the signal's reason */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
}
