import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface ProgramOptions {
  file: string;
  args?: string[];
  env: Record<string, string>;
  /** Options of Node itself. */
  nodeOptions?: string[];
}

export interface Program {
  pid: number;
  /** Where it listens; empty for a worker. */
  url: string;
  /** From its start until it said that it is ready. */
  readyMs: number;
  stop: () => Promise<void>;
}

const timeoutMs = 30_000;
const running = new Set<ChildProcess>();

/** Ends whatever still runs, where there is no time for manners. */
export function killPrograms(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Remembers a process for `killPrograms`. */
export function tracked(child: ChildProcess): ChildProcess {
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/**
 * Starts a program of Node, and resolves when it writes a line of JSON with the message "ready".
 *
 * @throws Error with its last lines, if it ends before or takes more than half a minute
 */
export async function startProgram({
  file,
  args = [],
  env,
  nodeOptions = [],
}: ProgramOptions): Promise<Program> {
  const began = performance.now();
  const child = tracked(
    spawn(process.execPath, [...nodeOptions, file, ...args], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const exited = once(child, 'exit');
  const said: string[] = [];
  const lines = createInterface({ input: child.stdout! });
  const ready = new Promise<{ url?: string; readyMs: number }>((resolve, reject) => {
    const fail = (reason: string) =>
      reject(new Error(`${file} ${args.join(' ')} ${reason}: ${said.join('\n')}`));
    const timer = setTimeout(() => fail('was not ready in time'), timeoutMs);
    lines.on('line', (line) => {
      if (said.push(line) > 20) said.shift();
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
