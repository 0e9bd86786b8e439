import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from './processes.ts';
import { readLockFile, tryConnection } from './server-process.ts';

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
