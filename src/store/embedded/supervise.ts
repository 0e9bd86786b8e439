import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import type { ServerProcess } from './server-process.ts';

const pauseMs = 500;

/**
 * Starts a server again whenever it ends, until the returned function is called, which stops it for good.
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
      log.error('the embedded PostgreSQL ended; it is started again');
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      try {
        server = await start();
      } catch (error) {
        log.error({ err: error }, 'the embedded PostgreSQL could not be started again');
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
