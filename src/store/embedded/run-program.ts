import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Lock } from './lock.ts';
import type { Place } from './place.ts';

/**
 * Runs a program of PostgreSQL to its end, as the server's user. While it runs it has the lock, even if this process ends.
 *
 * @param input its standard input
 * @param signal ends it; this returns after its exit
 * @throws Error with its messages; the signal's reason
 */
export async function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  { home, user }: Place,
  lock: Pick<Lock, 'fd'> | undefined,
  { input = '', signal }: { input?: string; signal?: AbortSignal | undefined } = {},
): Promise<void> {
  signal?.throwIfAborted();
  const stdio = ['pipe' as const, 'ignore' as const, 'pipe' as const, lock?.fd ?? ('ignore' as const)];
  const child = spawn(program, args, { ...user, cwd: home, stdio });
  const end = () => child.kill();
  signal?.addEventListener('abort', end);
  try {
    child.stdin?.on('error', () => {}).end(input); // it may have ended
    const messages = child.stderr ? text(child.stderr) : undefined;
    const [code, by] = await once(child, 'exit');
    if (code !== 0) throw new Error((await messages)?.trim() || `it ended with ${by ?? `exit code ${code}`}`);
  } catch (error) {
    signal?.throwIfAborted();
    throw new Error(`${program} failed: ${explainLimit((error as Error).message)}`, { cause: error });
  } finally {
    signal?.removeEventListener('abort', end);
  }
}

// By what programs, libraries and the system say.
const limits: [pattern: RegExp, name: string][] = [
  [
    /EAGAIN|Resource temporarily unavailable|[Cc]annot fork|could not fork/,
    'The limit of processes is reached: of the user (ulimit -u), of the unit (TasksMax) or of the container (pids limit)',
  ],
  [
    /EMFILE|Too many open files(?! in system)|insufficient file descriptors/,
    'The limit of open files of this process is reached: raise ulimit -n (LimitNOFILE of a unit) to 4096',
  ],
  [
    /ENFILE|open files in system/,
    'The limit of open files of the machine is reached: raise sysctl fs.file-max',
  ],
  [/ENOSPC|No space left on device/, 'The disk is full'],
];

/** A reason for which a program could not run and, where that is a limit, which one. */
export function explainLimit(reason: string): string {
  const name = limits.find(([pattern]) => pattern.test(reason))?.[1];
  return name ? `${reason}\n${name}` : reason;
}
