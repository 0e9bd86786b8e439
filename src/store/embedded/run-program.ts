import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { explainLimit } from './limits.ts';
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
