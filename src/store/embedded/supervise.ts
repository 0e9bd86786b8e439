import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../common/log.ts';
import { childrenOf, readLockFile } from './processes.ts';
import { immediately, type ServerProcess, tryConnection } from './server-process.ts';

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

const [intervalMs, looks] = [1_000, 10];
const cannotConnectNow = '57P03';

/** Whether the process that recovers the data runs, of the server with this process id. It may take hours. */
export function isRecovering(pid: number | undefined): boolean {
  return childrenOf(pid).some(({ command }) => isServerProcess(command) && /\bstartup\b/.test(command));
}

/**
 * Resolves with true once a server cannot become available by itself: for 10 s it has refused connections, nobody has asked it
 * to stop, and it has neither the process that recovers the data nor the one that writes the WAL of a server that is available.
 * PostgreSQL 18 may be left so, waiting for its own processes, when its recovery after a crash fails.
 *
 * @param pid of the server; where its processes cannot be listed, it is never stuck
 * @returns false once the signal is aborted
 */
export async function becomesStuck(
  pid: number | undefined,
  database: string,
  signal: AbortSignal,
): Promise<boolean> {
  for (let stuck = 0; stuck < looks; ) {
    await sleep(intervalMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return false;
    const isStuckNow = await isStuck(pid, database).catch(() => undefined); // what cannot be read proves nothing
    if (isStuckNow) stuck += 1;
    else if (isStuckNow === false) stuck = 0;
  }
  return true;
}

/** Undefined where that is unknown for now, as while a process has not got its title yet. */
async function isStuck(pid: number | undefined, database: string): Promise<boolean | undefined> {
  const lock = readLockFile(database);
  if (!lock || lock.pid !== pid || lock.status === 'stopping') return false;
  const commands = childrenOf(pid).map(({ command }) => command);
  if (commands.some((command) => isServerProcess(command) && /\b(startup|walwriter)\b/.test(command)))
    return false;
  if (commands.length === 0 || !commands.every(isServerProcess)) return undefined;
  const error = await tryConnection(`postgresql://receiver@127.0.0.1:${lock.port}/postgres`);
  return error?.code === cannotConnectNow;
}

const isServerProcess = (command: string) => command.startsWith('postgres: ');
