import { setTimeout as sleep } from 'node:timers/promises';
import type { JobWorker } from '../queue/backend.ts';
import type { Circuit } from '../store/circuit.ts';

const checkEveryMs = 100;
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
  let hasFailed = false;
  worker.on('error', (error) => {
    hasFailed = true;
    void worker.pause(true);
    void queueStore.probeAfter(error).then((unavailable) => unavailable || report(error));
  });
  for (;;) {
    for (const circuit of [database, queueStore]) await circuit.whenClosed(signal);
    hasFailed = false;
    void worker.resume();
    while (!database.isOpen && !queueStore.isOpen && !hasFailed) {
      await sleep(checkEveryMs, undefined, { signal });
    }
    await worker.pause(true);
    await sleep(pauseMs, undefined, { signal });
  }
}
