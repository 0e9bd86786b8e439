import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import type { ServerProcess } from './server-process.ts';

const pauseMs = 500;

/**
 * Restarts a server whenever it ends.
 *
 * @returns a function that stops it for good
 */
export function supervise(
  first: ServerProcess,
  start: () => Promise<ServerProcess>,
  log: Log,
): () => Promise<void> {
  const stopping = new AbortController();
  let server = first;

  const done = (async () => {
    while (!stopping.signal.aborted) {
      await server.exited;
      if (stopping.signal.aborted) return;
      log.error('embedded PostgreSQL ended; restarting it');
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      try {
        server = await start();
      } catch (error) {
        log.error({ err: error }, 'embedded PostgreSQL could not be restarted');
      }
    }
    await server.stop();
  })();

  return async () => {
    stopping.abort();
    await server.stop();
    await done;
  };
}
