import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobWorker } from '../queue/backend.ts';
import type { Circuit } from '../store/circuit.ts';

const pauseMs = 1_000;

/**
 * Runs a worker while both stores are available. BullMQ retries at once after most errors, so the worker is paused for a
 * moment after each: otherwise it would spin and fill the log.
 *
 * @param report called with errors that are no outage
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
    void queueStore.probeAfter(error).then((unavailable) => unavailable || report(error));
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
