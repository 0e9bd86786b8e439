import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface Program {
  pid: number;
  /** The address that it listens on; empty for a worker. */
  url: string;
  /** From its start until it logs that it is ready. */
  readyMs: number;
  stop: () => Promise<void>;
}

const timeoutMs = 30_000;
const running = new Set<ChildProcess>();

/** Kills the processes that still run. */
export function killPrograms(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Registers a process for `killPrograms`. */
export function tracked(child: ChildProcess): ChildProcess {
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/**
 * Starts a program, and resolves when it logs the message "ready".
 *
 * @throws Error with its last lines, if it ends before that or takes more than half a minute
 */
export async function startProgram(
  command: string[],
  env: Record<string, string>,
  cwd?: string,
): Promise<Program> {
  const began = performance.now();
  const child = tracked(
    spawn(command[0]!, command.slice(1), {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', ...env },
      cwd,
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const exited = once(child, 'exit');
  const lastLines: string[] = [];
  const lines = createInterface({ input: child.stdout! });
  const ready = new Promise<{ url?: string; readyMs: number }>((resolve, reject) => {
    const fail = (reason: string) =>
      reject(new Error(`${command.join(' ')} ${reason}: ${lastLines.join('\n')}`));
    const timer = setTimeout(() => fail('was not ready in time'), timeoutMs);
    lines.on('line', (line) => {
      if (lastLines.push(line) > 20) lastLines.shift();
      if (!line.includes('"msg":"ready"')) return;
      clearTimeout(timer);
      resolve({ ...JSON.parse(line), readyMs: performance.now() - began });
    });
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      fail(`ended with ${code ?? signal}`);
    });
  });
  const { url = '', readyMs } = await ready.catch((error) => {
    child.kill('SIGKILL');
    throw error;
  });
  return { pid: child.pid!, url, readyMs, stop: () => stop(child, exited) };
}

async function stop(child: ChildProcess, exited: Promise<unknown[]>): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  await exited;
  clearTimeout(timer);
}
