import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../common/log.ts';
import { becomesStuck } from './recovery.ts';
import { immediately, type ServerProcess } from './server-process.ts';

const [firstPauseMs, maxPauseMs] = [500, 30_000];

/**
 * Restarts a server whenever it ends: at first after half a second, then after pauses that double. One line is logged when it
 * ends, one when it cannot be restarted, and one when it runs again. A server that is stuck is ended.
 *
 * @param database its data directory
 * @returns a function that stops it for good
 */
export function supervise(
  first: ServerProcess,
  start: () => Promise<ServerProcess>,
  database: string,
  log: Pick<Log, 'error' | 'warn' | 'info'>,
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let server = first;
  const done = (async () => {
    for (let pauseMs = firstPauseMs; ; ) {
      const began = performance.now();
      const event = await untilUnavailable(server, database, signal, log);
      if (signal.aborted) return;
      if (performance.now() - began > maxPauseMs) pauseMs = firstPauseMs;
      log.error({ reason: server.reason() }, `embedded PostgreSQL ${event}; restarting it`);
      let restarted: ServerProcess | undefined;
      for (let isFirst = true; !restarted; isFirst = false) {
        await sleep(pauseMs, undefined, { signal }).catch(() => {});
        if (signal.aborted) return;
        pauseMs = Math.min(2 * pauseMs, maxPauseMs);
        restarted = await start().catch((error) => {
          if (isFirst) log.error({ err: error }, 'embedded PostgreSQL could not be restarted; trying again');
          return undefined;
        });
      }
      server = restarted;
      if (signal.aborted) return server.stop(log);
      log.info('embedded PostgreSQL runs again');
    }
  })();
  return async () => {
    stopping.abort();
    await server.stop(log);
    await done;
  };
}

/** Resolves, with what has happened, once a server has ended, was stuck and has been ended, or `stopping` is aborted. */
async function untilUnavailable(
  server: ServerProcess,
  database: string,
  stopping: AbortSignal,
  log: Pick<Log, 'warn'>,
): Promise<string> {
  const watching = new AbortController();
  const signal = AbortSignal.any([watching.signal, stopping]);
  const ended = server.exited.then(() => false);
  const isStuck = await Promise.race([ended, becomesStuck(server.pid, database, signal)]);
  watching.abort();
  if (!isStuck) return 'ended';
  await server.stop(log, immediately);
  return 'could not recover, and was ended';
}
