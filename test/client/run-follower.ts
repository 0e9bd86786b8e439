import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A project with a program that uses the built client, and pg. Its processes run until they are killed. */
export function createFollower(text: string, env: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'follower-'));
  const client = join(folder, 'node_modules/webhook-receiver-client');
  mkdirSync(client, { recursive: true });
  writeFileSync(join(client, 'package.json'), '{"type": "module", "exports": "./dist/client/index.js"}');
  for (const name of ['dist', 'node_modules']) symlinkSync(join(process.cwd(), name), join(client, name));
  symlinkSync(join(process.cwd(), 'node_modules/pg'), join(folder, 'node_modules/pg'));
  writeFileSync(join(folder, 'follower.mjs'), text);
  const running = new Set<ChildProcess>();
  const kill = async (child: ChildProcess) => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  return {
    /** The folder, to be deleted. */
    folder,
    start: () => {
      const child = spawn(process.execPath, [join(folder, 'follower.mjs')], {
        env: { PATH: process.env.PATH, ...env },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      running.add(child);
      child.once('exit', () => running.delete(child));
      return child;
    },
    kill,
    killAll: () => Promise.all([...running].map(kill)),
  };
}
