import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageConfig } from './build.ts';

export interface Container {
  child: ChildProcess;
  output: () => string;
  /** Runs a command inside; its exit code. */
  exec: (command: string[]) => number;
  /** Peak of the memory of its first process, MiB. */
  peakMiB: () => number;
  /** Sends a signal and resolves with the exit code. */
  end: (signal?: string) => Promise<number>;
}

interface Spec {
  process: Record<string, unknown> & { capabilities: Record<string, string[]> };
  root: { path: string; readonly: boolean };
  linux: { namespaces: { type: string }[]; resources: object };
}

/**
 * Runs the image's files with runc: read-only, as the image's user, without capabilities or new
 * privileges, in 512 MiB of memory. It has the network of this machine.
 *
 * @param env added to the image's variables
 * @param command default: the image's
 */
export function runContainer(
  { folder, root, config }: { folder: string; root: string; config: ImageConfig },
  name: string,
  env: Record<string, string>,
  command = config.Cmd,
): Container {
  const bundle = join(folder, name);
  mkdirSync(bundle);
  const runc = ['--root', join(folder, 'runc')];
  execFileSync('runc', ['spec'], { cwd: bundle });
  const file = join(bundle, 'config.json');
  const spec = JSON.parse(readFileSync(file, 'utf8')) as Spec;
  const [uid, gid] = config.User.split(':').map(Number);
  Object.assign(spec.process, {
    terminal: false,
    user: { uid, gid },
    env: [...config.Env, ...Object.entries(env).map(([key, value]) => `${key}=${value}`)],
    cwd: config.WorkingDir,
    args: command,
    noNewPrivileges: true,
    capabilities: Object.fromEntries(Object.keys(spec.process.capabilities).map((set) => [set, []])),
  });
  spec.root = { path: root, readonly: true };
  spec.linux.namespaces = spec.linux.namespaces.filter(({ type }) => type !== 'network');
  spec.linux.resources = { memory: { limit: 512 * 1024 ** 2 } };
  writeFileSync(file, JSON.stringify(spec));

  // Names of containers are those of the machine's control groups.
  const id = `receiver-${process.pid}-${name}`;
  const child = spawn('runc', [...runc, 'run', id], { cwd: bundle, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  const exited = once(child, 'exit').then(([code]) => code as number);
  return {
    child,
    output: () => text,
    exec: (args) => {
      try {
        execFileSync('runc', [...runc, 'exec', id, ...args], { stdio: 'ignore' });
        return 0;
      } catch (error) {
        return (error as { status: number }).status;
      }
    },
    peakMiB: () => {
      const { pid } = JSON.parse(execFileSync('runc', [...runc, 'state', id], { encoding: 'utf8' })) as {
        pid: number;
      };
      return Math.round(
        Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024,
      );
    },
    end: async (signal) => {
      if (signal && child.exitCode === null) execFileSync('runc', [...runc, 'kill', id, signal]);
      return exited;
    },
  };
}
