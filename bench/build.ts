import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

/** Compiles the programs of the bench: like the receiver, they run under plain Node. */
export async function buildPrograms(outdir: string): Promise<void> {
  const folder = join(import.meta.dirname, 'programs');
  await build({
    entryPoints: readdirSync(folder).map((file) => join(folder, file)),
    outdir,
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
  });
  // The sandbox reads it at run time.
  cpSync(join(import.meta.dirname, '../src/sandbox/registrations.json'), join(outdir, 'registrations.json'));
}
