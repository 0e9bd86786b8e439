import { once } from 'node:events';
import type { Log } from '../common/log.ts';
import type { OnStop } from '../receiver/receiver.ts';

export interface Parts<Result> {
  result: Result;
  /** Closes the parts in reverse order. @throws AggregateError */
  stop: () => Promise<void>;
}

/**
 * Starts parts, and closes them in reverse order where one of them cannot be started.
 *
 * @param signal aborts the start
 * @throws the first error, or the signal's reason; the parts that were started are closed before
 */
export async function startParts<Result>(
  start: (onStop: OnStop) => Promise<Result>,
  log: Log,
  signal?: AbortSignal,
): Promise<Parts<Result>> {
  const closers: (() => Promise<unknown>)[] = [async () => log.writeCounts()];
  const stop = async () => {
    const errors: unknown[] = [];
    for (let close = closers.pop(); close; close = closers.pop())
      await close().catch((error) => errors.push(error));
    if (errors.length > 0) throw new AggregateError(errors, 'The receiver did not stop cleanly.');
  };
  const onStop: OnStop = (close) => {
    closers.push(close);
    // Opened after the stop had begun.
    if (signal?.aborted)
      void stop().catch((error) => log.error({ err: error }, 'the receiver did not stop cleanly'));
    signal?.throwIfAborted();
  };
  try {
    const started = start(onStop);
    return { result: await (signal ? Promise.race([started, aborted(signal)]) : started), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @throws the signal's reason, once it is aborted */
async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}
