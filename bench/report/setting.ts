import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

/** The conditions of a measurement. */
export type Setting = Record<string, string>;

/** The machine, the versions and the commit. */
export function describeSetting(stores: { postgres: string; redis?: string }): Setting {
  const [cpu] = cpus();
  const packages = ['express', 'zod', 'bullmq', 'pg', 'pg-boss', 'graphile-worker', 'autocannon'];
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    machine: `${cpus().length} × ${cpu?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${process.platform} ${process.arch}`,
    node: process.version,
    postgresql: stores.postgres,
    ...(stores.redis && { redis: stores.redis }),
    packages: packages.map((name) => `${name} ${versionOf(name)}`).join(', '),
  };
}

function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : ' with changes';
    return `${git('rev-parse', '--short', 'HEAD')}${changed}`;
  } catch {
    return 'unknown';
  }
}

function versionOf(name: string): string {
  const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
