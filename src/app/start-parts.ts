import { once } from 'node:events';
import type { Log } from '../common/log.ts';
import type { OnStop } from '../receiver/receiver.ts';

export interface Parts<Result> {
  result: Result;
  /** Closes the parts in reverse order. @throws AggregateError */
  stop: () => Promise<void>;
}

/** @throws the first error, or the reason of the signal, which aborts the start; the parts that were started are closed before */
export async function startParts<Result>(
  start: (onStop: OnStop) => Promise<Result>,
  log: Log,
  signal = new AbortController().signal,
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
    if (!signal.aborted) return;
    // Opened after the stop had begun.
    void stop().catch((err) => log.error({ err }, 'the receiver did not stop cleanly'));
    throw signal.reason;
  };
  try {
    return { result: await Promise.race([start(onStop), aborted(signal)]), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}
