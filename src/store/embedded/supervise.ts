import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import type { ServerProcess } from './server-process.ts';

const [firstPauseMs, longestPauseMs] = [500, 30_000];

/**
 * Restarts a server whenever it ends: at first after half a second, then after pauses that double. One line is logged when it
 * ends, one when it cannot be restarted, and one when it runs again.
 *
 * @returns a function that stops it for good
 */
export function supervise(
  first: ServerProcess,
  start: () => Promise<ServerProcess>,
  log: Pick<Log, 'error' | 'info'>,
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let server = first;
  const done = (async () => {
    for (let pauseMs = firstPauseMs; ; ) {
      const began = performance.now();
      await server.exited;
      if (signal.aborted) return;
      if (performance.now() - began > longestPauseMs) pauseMs = firstPauseMs;
      log.error({ reason: server.reason() }, 'embedded PostgreSQL ended; restarting it');
      let restarted: ServerProcess | undefined;
      for (let isFirst = true; !restarted; isFirst = false) {
        await sleep(pauseMs, undefined, { signal }).catch(() => {});
        if (signal.aborted) return;
        pauseMs = Math.min(2 * pauseMs, longestPauseMs);
        restarted = await start().catch((error) => {
          if (isFirst) log.error({ err: error }, 'embedded PostgreSQL could not be restarted; trying again');
          return undefined;
        });
      }
      server = restarted;
      if (signal.aborted) return server.stop();
      log.info('embedded PostgreSQL runs again');
    }
  })();
  return async () => {
    stopping.abort();
    await server.stop();
    await done;
  };
}
