import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { until } from './until.ts';

export interface TestProcess {
  /** Its address; empty for a worker. */
  url: string;
  child: ChildProcess;
  output: () => string;
  /** Sends a signal and resolves with the exit code, or the signal that ended it. */
  end: (signal?: NodeJS.Signals) => Promise<number | NodeJS.Signals>;
}

const running = new Set<ChildProcess>();

/** Kills what a failed test has left. */
export function killProcesses(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Sends a signal to a process and its children. */
export function signalAll(pid: number, signal: NodeJS.Signals): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  for (const one of [pid, ...children.map(Number)]) {
    try {
      process.kill(one, signal);
    } catch (error) {
      // A child that has ended meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Runs the built program with these arguments and only this environment. @param build its folder */
export function spawnReceiver(
  args: string[],
  env: Record<string, string>,
  cwd = process.cwd(),
  build = process.cwd(),
): TestProcess {
  const child = spawn(process.execPath, [`${build}/bin/receiver.js`, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  running.add(child);
  const exited = once(child, 'exit').then(([code, signal]) => {
    running.delete(child);
    return (code ?? signal) as number | NodeJS.Signals;
  });
  return {
    url: '',
    child,
    output: () => text,
    end: async (signal) => {
      if (signal) child.kill(signal);
      return exited;
    },
  };
}

/** Starts the built service in a process and waits until it is ready. */
export async function spawnService(env: Record<string, string>, build?: string): Promise<TestProcess> {
  const service = spawnReceiver(['start'], { PORT: '0', ...env }, undefined, build);
  const ready = await until(() => {
    if (service.child.exitCode !== null) throw new Error(`It ended: ${service.output()}`);
    return service
      .output()
      .split('\n')
      .find((line) => line.includes('"msg":"ready"'));
  }, 120_000).catch((error) => {
    service.child.kill('SIGKILL');
    throw error;
  });
  // Otherwise a test sees only that a connection is refused.
  service.child.once('exit', (code, signal) => {
    if (!code && signal !== 'SIGABRT' && signal !== 'SIGSEGV') return;
    process.stderr.write(
      `A receiver ended by itself (${code ?? signal}):\n${service.output().slice(-5_000)}\n`,
    );
  });
  service.url = (JSON.parse(ready) as { url?: string }).url ?? '';
  return service;
}
