import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobWorker } from '../queue/backend.ts';
import type { Circuit } from '../store/circuit.ts';

const pauseMs = 1_000;

/**
 * Lets a worker run while the stores answer. BullMQ asks again at once after most errors, so after any it is
 * paused for a moment: it must neither spin nor fill the log.
 *
 * @param report told of errors that are no outage
 * @throws AbortError
 */
export async function takeJobs(
  worker: JobWorker,
  database: Circuit,
  queueStore: Circuit,
  report: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  const failures = new EventEmitter();
  worker.on('error', (error) => {
    failures.emit('failure');
    void queueStore.suspect(error).then((away) => away || report(error));
  });
  for (;;) {
    for (const circuit of [database, queueStore]) await circuit.whenClosed(signal);
    void worker.resume();
    const settled = new AbortController();
    const either = AbortSignal.any([signal, settled.signal]);
    await Promise.race([
      database.whenOpen(either),
      queueStore.whenOpen(either),
      once(failures, 'failure', { signal: either }),
    ]).finally(() => settled.abort());
    await worker.pause(true);
    await sleep(pauseMs, undefined, { signal });
  }
}
