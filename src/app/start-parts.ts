import type { OnStop } from '../receiver/receiver.ts';

export interface Parts<Result> {
  result: Result;
  /** Closes the parts in reverse order. @throws AggregateError */
  stop: () => Promise<void>;
}

/** @throws the first error; the parts that were started are closed before */
export async function startParts<Result>(start: (onStop: OnStop) => Promise<Result>): Promise<Parts<Result>> {
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    const errors: unknown[] = [];
    for (let close = closers.pop(); close; close = closers.pop())
      await close().catch((error) => errors.push(error));
    if (errors.length > 0) throw new AggregateError(errors, 'The receiver did not stop cleanly.');
  };
  try {
    return { result: await start((close) => closers.push(close)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
