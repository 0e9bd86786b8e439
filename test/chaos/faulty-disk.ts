import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { platform, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { provideBinaries } from '../../src/store/embedded/cluster.ts';
import { findPlace } from '../../src/store/embedded/place.ts';

const letters = { none: '-', slow: 's', 'failing sync': 'f', full: 'n', 'read-only': 'r' } as const;

/** `slow`: each write and each sync takes 300 ms. */
export type DiskFault = keyof typeof letters;

/** The disk of the programs that run with `variables`, as they see it. */
export interface FaultyDisk {
  variables: Record<string, string>;
  /** From now on, for files whose path matches this pattern of fnmatch, in which `*` may contain slashes. */
  set: (fault: DiskFault, pattern?: string) => void;
  remove: () => void;
}

const source = join(process.cwd(), 'test/chaos/faulty-disk.c');

/** Why this machine cannot have such a disk; undefined: it can. */
export function whyNoFaultyDisk(): string | undefined {
  if (platform() !== 'linux') return 'LD_PRELOAD is of Linux';
  const { status } = spawnSync('cc', ['--version'], { stdio: 'ignore' });
  return status === 0 ? undefined : 'it has no C compiler (cc)';
}

/** @throws Error with the compiler's output */
export function makeFaultyDisk(): FaultyDisk {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-faulty-disk-'));
  chmodSync(folder, 0o755); // PostgreSQL's user reads it
  const [library, control] = ['disk.so', 'control'].map((name) => join(folder, name)) as [string, string];
  execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'], { stdio: 'pipe' });
  const set = (fault: DiskFault, pattern = '*') => {
    const write = (text: string) => writeFileSync(control, text, { flag: 'r+' }); // it is mapped
    write(letters.none);
    write(`- ${pattern}\0`);
    write(letters[fault]);
  };
  writeFileSync(control, Buffer.alloc(4096));
  set('none');
  return {
    variables: { LD_PRELOAD: library, FAULTY_DISK: control },
    set,
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** Makes the embedded PostgreSQL of a data directory use a disk: its program becomes a script. */
export async function useDisk(dataDir: string, { variables }: FaultyDisk): Promise<void> {
  const { home } = findPlace(dataDir);
  const programs = await provideBinaries(home);
  const real = join(home, 'real', basename(dirname(programs)));
  // A link to the prepared programs, or a copy.
  mkdirSync(dirname(real));
  renameSync(dirname(programs), real);
  mkdirSync(programs, { recursive: true });
  for (const name of ['lib', 'share']) symlinkSync(join(real, name), join(dirname(programs), name));
  for (const name of readdirSync(join(real, 'bin'))) {
    const at = join(programs, name);
    if (name !== 'postgres') symlinkSync(join(real, 'bin', name), at);
    else writeFileSync(at, script(join(real, 'bin', name), variables), { mode: 0o755 });
  }
}

const script = (program: string, variables: FaultyDisk['variables']): string =>
  `#!/bin/sh\n${Object.entries(variables)
    .map(([name, value]) => `${name}='${value}' `)
    .join('')}exec '${program}' "$@"\n`;
